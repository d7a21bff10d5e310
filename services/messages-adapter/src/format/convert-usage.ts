import { type ReportedUsage, readTokenCount, toReportedUsage } from '@gateway/chat';
import { asObject } from '@gateway/json';

/** The usage that the events of one answer report. */
export class UsageReports {
  #counts = nothingReported;

  /** Undefined before the first report. */
  reported: ReportedUsage | undefined;

  /** @param usage the `usage` of one event */
  add(usage: unknown): void {
    this.#counts = replaceUsage(this.#counts, readReportedCounts(usage));
    this.reported = convertUsage(this.#counts);
  }
}

/** Counts as one event reports them, cumulative over the answer. */
export interface ReportedCounts {
  /** Cached tokens not included. */
  readonly inputTokens: ReportedCount;
  readonly cacheCreationTokens: ReportedCount;
  readonly cacheReadTokens: ReportedCount;
  /** Thinking included. */
  readonly outputTokens: ReportedCount;
  readonly thinkingTokens: ReportedCount;
}

/** Undefined: not reported in that event. `unusable`: reported as something that can't be a count of tokens. */
type ReportedCount = number | 'unusable' | undefined;

/** The `usage` of one event. */
export function readReportedCounts(value: unknown): ReportedCounts {
  const usage = asObject(value) ?? {};
  return {
    inputTokens: readCount(usage.input_tokens),
    cacheCreationTokens: readCount(usage.cache_creation_input_tokens),
    cacheReadTokens: readCount(usage.cache_read_input_tokens),
    outputTokens: readCount(usage.output_tokens),
    thinkingTokens: readCount(asObject(usage.output_tokens_details)?.thinking_tokens),
  };
}

/** Usage after a further report: its counts are totals, so each one takes the place of the one before. */
export function replaceUsage(before: ReportedCounts, report: ReportedCounts): ReportedCounts {
  return {
    inputTokens: usableOf(report.inputTokens, before.inputTokens),
    cacheCreationTokens: usableOf(report.cacheCreationTokens, before.cacheCreationTokens),
    cacheReadTokens: usableOf(report.cacheReadTokens, before.cacheReadTokens),
    // The first count of the output is that of its first tokens: it must not stand for a total that can't be used.
    outputTokens: report.outputTokens ?? before.outputTokens,
    thinkingTokens: report.thinkingTokens ?? before.thinkingTokens,
  };
}

/**
 * Usage as chat counts it: the provider's input leaves cached tokens out, ours takes them in. Undefined when nothing was
 * reported, or only zeros: every answer costs something, so a provider that says nothing at all has not counted.
 */
export function convertUsage(counts: ReportedCounts): ReportedUsage | undefined {
  const { inputTokens, cacheCreationTokens = 0, cacheReadTokens = 0, outputTokens, thinkingTokens } = counts;
  const allInputTokens = sumOf([inputTokens, cacheCreationTokens, cacheReadTokens]);
  if ((allInputTokens ?? 0) + (numberOf(outputTokens) ?? 0) === 0) return undefined;
  return toReportedUsage({
    inputTokens: allInputTokens,
    cachedTokens: numberOf(cacheReadTokens),
    outputTokens: numberOf(outputTokens),
    reasoningTokens: numberOf(thinkingTokens),
  });
}

export const nothingReported: ReportedCounts = readReportedCounts(undefined);

function readCount(value: unknown): ReportedCount {
  return value === undefined || value === null ? undefined : (readTokenCount(value) ?? 'unusable');
}

/** The later one, unless only the earlier one can be used. */
function usableOf(later: ReportedCount, earlier: ReportedCount): ReportedCount {
  return numberOf(later) ?? earlier ?? later;
}

/** Undefined when one of them is not known: what is left is no sum. */
function sumOf(counts: readonly ReportedCount[]): number | undefined {
  return counts.reduce<number | undefined>((sum, count) => {
    const number = numberOf(count);
    return sum === undefined || number === undefined ? undefined : sum + number;
  }, 0);
}

function numberOf(count: ReportedCount): number | undefined {
  return typeof count === 'number' ? count : undefined;
}
