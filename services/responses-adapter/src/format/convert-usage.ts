import { type ReportedUsage, readTokenCount, toReportedUsage } from '@gateway/chat';
import { asObject } from '@gateway/json';

/**
 * The provider's `usage`, which counts cached tokens into the input and reasoning tokens into the
 * output already. Undefined when it reports none (`null` until a response has ended, and for good
 * on some backends).
 */
export function convertUsage(value: unknown): ReportedUsage | undefined {
  const usage = asObject(value);
  return toReportedUsage({
    inputTokens: readTokenCount(usage?.input_tokens),
    cachedTokens: readTokenCount(asObject(usage?.input_tokens_details)?.cached_tokens),
    outputTokens: readTokenCount(usage?.output_tokens),
    reasoningTokens: readTokenCount(asObject(usage?.output_tokens_details)?.reasoning_tokens),
  });
}
