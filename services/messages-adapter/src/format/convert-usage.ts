import type { TokenUsage } from '@gateway/chat';
import { asCount, asObject } from '@gateway/json';
import type { ReportedUsage } from './event-types.ts';

/** The `usage` of one event. Members that are absent, null or no counts are undefined. */
export function readReportedUsage(value: unknown): ReportedUsage {
  const usage = asObject(value) ?? {};
  return {
    inputTokens: asCount(usage.input_tokens),
    cacheCreationTokens: asCount(usage.cache_creation_input_tokens),
    cacheReadTokens: asCount(usage.cache_read_input_tokens),
    outputTokens: asCount(usage.output_tokens),
    thinkingTokens: asCount(asObject(usage.output_tokens_details)?.thinking_tokens),
  };
}

/** Usage after a further report: its counts are totals, so each one takes the place of the one before. */
export function replaceUsage(before: ReportedUsage, report: ReportedUsage): ReportedUsage {
  return {
    inputTokens: report.inputTokens ?? before.inputTokens,
    cacheCreationTokens: report.cacheCreationTokens ?? before.cacheCreationTokens,
    cacheReadTokens: report.cacheReadTokens ?? before.cacheReadTokens,
    outputTokens: report.outputTokens ?? before.outputTokens,
    thinkingTokens: report.thinkingTokens ?? before.thinkingTokens,
  };
}

/**
 * Usage as chat counts it: the provider's input leaves cached tokens out, ours takes them in. Undefined when nothing was
 * reported, or only zeros: every answer costs something, so a provider that says nothing at all has not counted.
 */
export function convertUsage(usage: ReportedUsage): TokenUsage | undefined {
  const { inputTokens = 0, cacheCreationTokens = 0, cacheReadTokens = 0, outputTokens = 0, thinkingTokens = 0 } = usage;
  const allInputTokens = inputTokens + cacheCreationTokens + cacheReadTokens;
  if (allInputTokens + outputTokens === 0) return undefined;
  return {
    inputTokens: allInputTokens,
    cachedTokens: cacheReadTokens,
    outputTokens,
    reasoningTokens: Math.min(thinkingTokens, outputTokens),
  };
}

export const nothingReported: ReportedUsage = readReportedUsage(undefined);
