import { type ReportedUsage, readTokenCount, toReportedUsage } from '@gateway/chat';
import { asObject } from '@gateway/json';

/**
 * Converts the provider's `usage`, whose input already includes cached tokens and whose output
 * includes reasoning tokens. Undefined when there is none (`null` until a response has ended, and
 * always on some backends).
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
