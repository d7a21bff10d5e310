import type { Answer } from './limit-window-load.ts';

const windowMs = 60_000;
/** Clients and Redis read the same clock, each to the millisecond. */
const clockStepMs = 1;

export interface WindowProof {
  readonly requests: number;
  /** Answers to admitted requests. */
  readonly admitted: number;
  readonly refused: number;
  /** Entries of the log. */
  readonly entries: number;
  readonly mostInAnyWindow: number;
  /** The start of that window. */
  readonly mostFromMs: number;
  /**
   * How long after its earliest possible time the closest entry came; negative: too early.
   * Undefined: none had to wait.
   */
  readonly smallestSlackMs: number | undefined;
  /** How long freed slots stayed free while there was demand. */
  readonly freeForMs: { readonly slots: number; readonly median: number; readonly p99: number; readonly most: number };
  /**
   * Refusals while the window was never full, or that named a time other than that of the next
   * slot.
   */
  readonly refusalsWithFreeSlot: number;
}

export interface Evidence {
  readonly limit: number;
  /** Times of all entries, in order. */
  readonly instants: readonly number[];
  readonly answers: readonly Answer[];
  /** Clients sent requests all the time between these. */
  readonly demand: { readonly fromMs: number; readonly untilMs: number };
}

export function proveWindow({ limit, instants, answers, demand }: Evidence): WindowProof {
  const refusals = answers.filter(({ status }) => status === 429);
  const waits = instants.slice(limit).map((atMs, n) => ({ freedMs: (instants[n] ?? 0) + windowMs, takenMs: atMs }));
  const free = waits
    .filter(({ freedMs }) => freedMs >= demand.fromMs && freedMs <= demand.untilMs)
    .map(({ freedMs, takenMs }) => takenMs - freedMs)
    .toSorted((a, b) => a - b);
  const most = mostCrowded(instants);
  return {
    requests: answers.length,
    admitted: answers.length - refusals.length,
    refused: refusals.length,
    entries: instants.length,
    mostInAnyWindow: most.count,
    mostFromMs: most.fromMs,
    smallestSlackMs: waits.length === 0 ? undefined : Math.min(...waits.map((wait) => wait.takenMs - wait.freedMs)),
    freeForMs: { slots: free.length, median: at(free, 0.5), p99: at(free, 0.99), most: at(free, 1) },
    refusalsWithFreeSlot: refusals.filter((refusal) => !wasFull(refusal, instants, limit)).length,
  };
}

/**
 * The remaining slots that the answers had to report according to the log, in ascending order.
 * Entries before `fromMs` had no answer.
 */
export function expectedRemaining(instants: readonly number[], limit: number, fromMs: number): readonly number[] {
  let oldest = 0;
  const remaining = instants.map((atMs, n) => {
    while ((instants[oldest] ?? atMs) <= atMs - windowMs) oldest += 1;
    return limit - (n - oldest + 1);
  });
  return remaining.filter((_, n) => (instants[n] ?? 0) >= fromMs).toSorted((a, b) => a - b);
}

function mostCrowded(instants: readonly number[]): { readonly count: number; readonly fromMs: number } {
  let most = { count: 0, fromMs: 0 };
  let end = 0;
  for (const [start, fromMs] of instants.entries()) {
    while (end < instants.length && (instants[end] ?? 0) < fromMs + windowMs) end += 1;
    if (end - start > most.count) most = { count: end - start, fromMs };
  }
  return most;
}

/**
 * A refusal names the time at which its oldest entry leaves. The window was full from the last of
 * the `limit` entries that begin with that one until that time. The refusal must have been made
 * then.
 */
function wasFull({ retryAtMs = 0, sentMs, receivedMs }: Answer, instants: readonly number[], limit: number): boolean {
  const oldest = firstAt(instants, retryAtMs - windowMs);
  const newestMs = oldest === undefined ? undefined : instants[oldest + limit - 1];
  if (newestMs === undefined) return false;
  return Math.max(sentMs - clockStepMs, newestMs) <= Math.min(receivedMs + clockStepMs, retryAtMs);
}

/** The index of the first entry of that time. */
function firstAt(instants: readonly number[], atMs: number): number | undefined {
  let low = 0;
  let high = instants.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((instants[middle] ?? 0) < atMs) low = middle + 1;
    else high = middle;
  }
  return instants[low] === atMs ? low : undefined;
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
