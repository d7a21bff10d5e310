import type { ModelTraits, PoolConfig } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { traitsOfModel } from './model-traits.ts';

const unsaid: ModelTraits = {
  efforts: undefined,
  thinking: undefined,
  thinkingByDefault: undefined,
  leastThinking: undefined,
  forcedToolChoice: undefined,
  structuredOutput: undefined,
  maxOutputTokens: undefined,
};
const withMaximum = (maxOutputTokens: number): ModelTraits => ({ ...unsaid, maxOutputTokens });

const pool: PoolConfig = {
  name: 'messages',
  format: 'messages',
  ownedBy: 'o',
  baseUrl: 'http://x',
  simulated: false,
  modelPatterns: [],
  modelTraits: [
    { pattern: 'claude-9-mini', traits: withMaximum(1) },
    { pattern: 'claude-9*', traits: withMaximum(2) },
    { pattern: '*', traits: withMaximum(3) },
  ],
};

describe('the traits of a model', () => {
  it('are those of the first pattern that fits', () => {
    const maximumOf = (model: string) => traitsOfModel(pool, model)?.maxOutputTokens;
    expect(['claude-9-mini', 'claude-9-mini-20270101', 'claude-9', 'llama'].map(maximumOf)).toEqual([1, 2, 2, 3]);
  });

  it('are not said where no pattern fits', () => {
    expect(traitsOfModel({ ...pool, modelTraits: pool.modelTraits.slice(0, 2) }, 'llama')).toBeUndefined();
  });
});
