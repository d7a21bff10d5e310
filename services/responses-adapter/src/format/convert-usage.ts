import type { TokenUsage } from '@gateway/chat';
import { asNumber, asObject } from '@gateway/json';

/**
 * The provider's `usage`, which counts cached tokens into the input and reasoning tokens into the output already.
 * Undefined when it reports none (`null` until a response has ended, and for good on some backends).
 */
export function convertUsage(value: unknown): TokenUsage | undefined {
  const usage = asObject(value);
  const inputTokens = readCount(usage?.input_tokens);
  const outputTokens = readCount(usage?.output_tokens);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const cachedTokens = readCount(asObject(usage?.input_tokens_details)?.cached_tokens) ?? 0;
  const reasoningTokens = readCount(asObject(usage?.output_tokens_details)?.reasoning_tokens) ?? 0;
  return {
    inputTokens: inputTokens ?? 0,
    cachedTokens: Math.min(cachedTokens, inputTokens ?? 0),
    outputTokens: outputTokens ?? 0,
    reasoningTokens: Math.min(reasoningTokens, outputTokens ?? 0),
  };
}

function readCount(value: unknown): number | undefined {
  const count = asNumber(value);
  return count === undefined || count < 0 ? undefined : Math.min(Math.round(count), Number.MAX_SAFE_INTEGER);
}
