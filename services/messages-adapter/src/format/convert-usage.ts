import { type ReportedUsage, readTokenCount, toReportedUsage } from '@gateway/chat';
import { asObject } from '@gateway/json';

/** The usage that the events of one answer report. Their counts are totals: each one takes the place of the one before. */
export class UsageReports {
  #counts = countsIn(undefined);
  /** Undefined before the first report. */
  reported: ReportedUsage | undefined;

  /** @param usage the `usage` of one event */
  add(usage: unknown): void {
    const before = this.#counts;
    const report = countsIn(usage);
    this.#counts = {
      input: usableOf(report.input, before.input),
      cacheCreation: usableOf(report.cacheCreation, before.cacheCreation),
      cacheRead: usableOf(report.cacheRead, before.cacheRead),
      // The first count of the output is that of its first tokens: it must not stand for a total that can't be used.
      output: report.output ?? before.output,
      thinking: report.thinking ?? before.thinking,
    };
    this.reported = toUsage(this.#counts);
  }
}

/** Undefined: not reported. NaN: reported as something that can't be a count of tokens. */
type Count = number | undefined;

/** Input leaves cached tokens out, output takes the thinking in. */
type Counts = Readonly<Record<'input' | 'cacheCreation' | 'cacheRead' | 'output' | 'thinking', Count>>;

function countsIn(value: unknown): Counts {
  const usage = asObject(value) ?? {};
  return {
    input: readCount(usage.input_tokens),
    cacheCreation: readCount(usage.cache_creation_input_tokens),
    cacheRead: readCount(usage.cache_read_input_tokens),
    output: readCount(usage.output_tokens),
    thinking: readCount(asObject(usage.output_tokens_details)?.thinking_tokens),
  };
}

function readCount(value: unknown): Count {
  return value === undefined || value === null ? undefined : (readTokenCount(value) ?? Number.NaN);
}

/** The later one, unless only the earlier one can be used. */
function usableOf(later: Count, earlier: Count): Count {
  return readTokenCount(later) ?? earlier ?? later;
}

/**
 * Usage as chat counts it, cached tokens among the input. Undefined when nothing was reported, or only zeros: every answer costs
 * something, so a provider that says nothing at all has not counted.
 */
function toUsage({ input = Number.NaN, cacheCreation = 0, cacheRead = 0, output, thinking }: Counts) {
  // Not known when one of them is not: what is left is no sum.
  const inputTokens = input + cacheCreation + cacheRead;
  if ((inputTokens || 0) + (output || 0) === 0) return undefined;
  const [cachedTokens, reasoningTokens] = [readTokenCount(cacheRead), readTokenCount(thinking)];
  const usage = toReportedUsage({ inputTokens, cachedTokens, outputTokens: output, reasoningTokens });
  return usage && { ...usage, cacheCreationTokens: readTokenCount(cacheCreation) || undefined };
}
