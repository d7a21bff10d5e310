import type { ModelTraits, PoolConfig } from '@gateway/config';
import { matchesAnyPattern } from './model-pattern.ts';

/** What the configuration says of a pool's model: of several patterns that fit, the first one counts. */
export function traitsOfModel({ modelTraits }: PoolConfig, model: string): ModelTraits | undefined {
  return modelTraits.find(({ pattern }) => matchesAnyPattern(model, [pattern]))?.traits;
}
