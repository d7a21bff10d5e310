import { type ReportedUsage, readTokenCount, toReportedUsage } from '@gateway/chat';
import { asObject } from '@gateway/json';

/**
 * The usage that the events of one answer report. Their counts are totals of what was used so far:
 * one that is lower than an earlier one, or absent, takes nothing back.
 */
export class UsageReports {
  #counts = countsIn(undefined);
  /** That of the first tokens: it does not stand for a total that can't be used. */
  #firstOutput: Count;
  /** Undefined before the first report. */
  reported: ReportedUsage | undefined;

  /** @param usage what an answer begins with */
  begin(usage: unknown): void {
    const { output, ...report } = countsIn(usage);
    this.#firstOutput = largestOf(this.#firstOutput, output);
    this.#take({ ...report, output: undefined });
  }

  /** @param usage what a later event, or a message as a whole, reports */
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

/** Undefined: not reported. NaN: reported as something that can't be a count of tokens. */
type Count = number | undefined;

/** Input leaves cached tokens out, output takes the thinking in. */
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

/** The larger one that can be used. */
function largestOf(known: Count, later: Count): Count {
  return known === undefined || Number.isNaN(known) ? (later ?? known) : Math.max(known, later || 0);
}

/**
 * The input by its parts. A later report may move tokens from one part to another, as when it is
 * the first to say what was cached: only the whole does not fall then. Once the whole is known,
 * what can't be used changes nothing.
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

/** NaN when one of the parts is not known: what is left is no sum. */
function totalOf({ input = Number.NaN, cacheCreation = 0, cacheRead = 0 }: InputCounts): number {
  return input + cacheCreation + cacheRead;
}

/** Usage as chat counts it, cached tokens among the input. */
function toUsage(counts: Counts): ReportedUsage | undefined {
  const { cacheCreation, cacheRead, output, thinking } = counts;
  const [cachedTokens, reasoningTokens] = [readTokenCount(cacheRead), readTokenCount(thinking)];
  const usage = toReportedUsage({ inputTokens: totalOf(counts), cachedTokens, outputTokens: output, reasoningTokens });
  return usage && { ...usage, cacheCreationTokens: readTokenCount(cacheCreation) || undefined };
}
