import { GatewayError } from '@gateway/errors';
import type { ModelFamily } from './model-families.ts';

/** Output tokens of an answer when the client sets no maximum. @see spec "Size limits" */
const defaultMaxOutputTokens = 32_000;

/**
 * `max_tokens`, which the Messages format demands: the client's maximum or the default, never more than the model gives.
 * Throws `invalid_request` for less than one token, which the provider would read as "warm the cache only".
 */
export function maxTokensFor(family: ModelFamily, requested: number | undefined): number {
  if (requested !== undefined && requested < 1) {
    throw new GatewayError('invalid_request', 'max_completion_tokens must be at least 1');
  }
  return Math.min(requested ?? defaultMaxOutputTokens, family.maxOutputTokens ?? Number.POSITIVE_INFINITY);
}
