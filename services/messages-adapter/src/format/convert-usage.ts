import { type ReportedUsage, readTokenCount, toReportedUsage } from '@gateway/chat';
import { asObject } from '@gateway/json';

/**
 * The usage that the events of one answer report. Their counts are totals: one that is lower than
 * an earlier one, or absent, changes nothing.
 */
export class UsageReports {
  #counts = countsIn(undefined);
  /** The output reported at the start: it does not replace an unusable total. */
  #firstOutput: Count;
  /** Undefined before the first report. */
  reported: ReportedUsage | undefined;

  /** @param usage the usage at the start of an answer */
  begin(usage: unknown): void {
    const { output, ...report } = countsIn(usage);
    this.#firstOutput = largestOf(this.#firstOutput, output);
    this.#take({ ...report, output: undefined });
  }

  /** @param usage the usage in a later event, or in a whole message */
  add(usage: unknown): void {
    this.#take(countsIn(usage));
  }

  #take(report: Counts): void {
    const known = this.#counts;
    this.#counts = {
      ...inputAfter(known, report),
      output: largestOf(known.output, report.output),
      thinking: largestOf(known.thinking, report.thinking),
    };
    const { output = this.#firstOutput } = this.#counts;
    this.reported = toUsage({ ...this.#counts, output: Math.max(output ?? Number.NaN, this.#firstOutput || 0) });
  }
}

/** Undefined: not reported. NaN: reported, but not a valid token count. */
type Count = number | undefined;

/** Input excludes cached tokens; output includes thinking. */
type Counts = InputCounts & Readonly<Record<'output' | 'thinking', Count>>;
type InputCounts = Readonly<Record<'input' | 'cacheCreation' | 'cacheRead', Count>>;

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

/** The larger of the valid counts. */
function largestOf(known: Count, later: Count): Count {
  return known === undefined || Number.isNaN(known) ? (later ?? known) : Math.max(known, later || 0);
}

/**
 * The parts of the input. A later report may move tokens between parts, for instance when it is the
 * first to report cached ones: only the total must not decrease then. Once the total is known,
 * invalid counts change nothing.
 */
function inputAfter(known: InputCounts, report: InputCounts): InputCounts {
  const total = totalOf(known);
  const later = Number.isNaN(total) ? report : usableOf(report);
  const cacheCreation = largestOf(known.cacheCreation, later.cacheCreation);
  const cacheRead = largestOf(known.cacheRead, later.cacheRead);
  if (!later.input) return { input: largestOf(known.input, later.input), cacheCreation, cacheRead };
  const rest = total - (cacheCreation ?? 0) - (cacheRead ?? 0);
  return { input: Math.max(later.input, rest || 0), cacheCreation, cacheRead };
}

function usableOf({ input, cacheCreation, cacheRead }: InputCounts): InputCounts {
  return { input: input || undefined, cacheCreation: cacheCreation || undefined, cacheRead: cacheRead || undefined };
}

/** NaN when one of the parts is unknown: the rest is not a total. */
function totalOf({ input = Number.NaN, cacheCreation = 0, cacheRead = 0 }: InputCounts): number {
  return input + cacheCreation + cacheRead;
}

/** Usage as chat counts it, with cached tokens included in the input. */
function toUsage(counts: Counts): ReportedUsage | undefined {
  const { cacheCreation, cacheRead, output, thinking } = counts;
  const [cachedTokens, reasoningTokens] = [readTokenCount(cacheRead), readTokenCount(thinking)];
  const usage = toReportedUsage({ inputTokens: totalOf(counts), cachedTokens, outputTokens: output, reasoningTokens });
  return usage && { ...usage, cacheCreationTokens: readTokenCount(cacheCreation) || undefined };
}
