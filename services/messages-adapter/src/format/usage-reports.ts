import { type ReportedUsage, readTokenCount, toReportedUsage } from '@gateway/chat';
import { asObject } from '@gateway/json';
import { Bill } from './bill.ts';
import { type Count, type Counts, countsAfter, countsIn, largestOf, totalOf } from './usage-counts.ts';

/**
 * The usage that the events of one answer report. Their counts are totals: one that is lower than
 * an earlier one, or absent, changes nothing.
 */
export class UsageReports {
  #counts = countsIn(undefined);
  readonly #bill = new Bill();
  /** The output reported at the start: it does not replace an unusable total. */
  #firstOutput: Count;
  /** Undefined before the first report. */
  reported: ReportedUsage | undefined;

  /** @param usage the usage at the start of an answer */
  begin(usage: unknown): void {
    const { output, ...report } = countsIn(usage);
    this.#firstOutput = largestOf(this.#firstOutput, output);
    this.#take({ ...report, output: undefined }, usage);
  }

  /** @param usage the usage in a later event, or in a whole message */
  add(usage: unknown): void {
    this.#take(countsIn(usage), usage);
  }

  #take(report: Counts, usage: unknown): void {
    this.#counts = countsAfter(this.#counts, report);
    this.#bill.add(asObject(usage) ?? {});
    const { output = this.#firstOutput } = this.#counts;
    const counts = { ...this.#counts, output: Math.max(output ?? Number.NaN, this.#firstOutput || 0) };
    this.reported = toUsage(counts, this.#bill);
  }
}

/**
 * Usage as chat counts it, with cached tokens included in the input. An answer that has only passes
 * has no input of its own.
 */
function toUsage(counts: Counts, bill: Bill): ReportedUsage | undefined {
  const { cacheCreation, hour, cacheRead, output, thinking } = counts;
  const inputTokens = totalOf(counts);
  const [cachedTokens, reasoningTokens] = [readTokenCount(cacheRead), readTokenCount(thinking)];
  const usage = toReportedUsage({ inputTokens, cachedTokens, outputTokens: output, reasoningTokens });
  const created = readTokenCount(cacheCreation) ?? 0;
  const created1h = Math.min(readTokenCount(hour) ?? 0, created);
  const own = usage && {
    ...usage,
    cacheCreationTokens: created || undefined,
    cacheCreation1hTokens: created1h || undefined,
  };
  const isOnlyPasses = bill.isOnlyPasses && inputTokens === 0 && output === 0;
  const billed = isOnlyPasses ? { ...nothing, inputTokens, outputTokens: output } : (own ?? nothing);
  const billing = bill.billing(billed);
  return own === undefined && billing === undefined ? undefined : { ...billed, billing };
}

/** Nothing was reported of the answer itself. */
const nothing = { inputTokens: undefined, cachedTokens: 0, outputTokens: undefined, reasoningTokens: 0 };
