import type { RecordedRequest } from '@gateway/simulator';
import type { ClientRequest, ClientToken } from '../clients/client.ts';
import type { EndedText, LimitChange, TokenGroup } from '../clients/operator.ts';
import type { FileChange } from '../gateway/gateway-file.ts';

/** A row of the ledger: a request, or an attempt that was given up. */
export interface LedgerRow {
  readonly requestId: string;
  readonly tokenId: string;
  /** Empty: none. */
  readonly groupId: string;
  readonly localDay: string;
  readonly model: string;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWrite5mTokens: number;
  readonly cacheWrite1hTokens: number;
  readonly outputTokens: number;
  /** Null: its edge knew no price. */
  readonly costMicros: number | null;
  readonly estimated: boolean;
  readonly outcome: string;
}

/** What was noted at an instant: a second after the note before it. */
export interface Note {
  readonly atMs: number;
  /** How many decisions edges had made alone. */
  readonly edges: number;
  /** Whether some process decided alone, or had not reached its store, since the note before. */
  readonly wasAnyAway: boolean;
  /** Whether limiters could compare counters with the ledger all the time since then. */
  readonly couldCompare: boolean;
  /** Whether all brokers ran since then. */
  readonly wereBrokersUp: boolean;
  /** Tokens of this local day by token id, as the limiter's counters had them. */
  readonly localDay: string;
  readonly counterTokens: ReadonlyMap<string, number>;
}

/** How often something had happened. */
export interface CountAt {
  readonly atMs: number;
  readonly count: number;
}

/** What a group had taken when all requests had ended. */
export interface GroupState {
  readonly groupId: string;
  readonly running: number;
  readonly spentMicros: number;
  readonly reservedMicros: number;
}

/** A time at which something did not work. */
export interface Trouble {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** All that a run leaves for the checkers, after the gateway has been quiet for a while. */
export interface Evidence {
  readonly requests: readonly ClientRequest[];
  /** What the providers recorded, by the marker in the text. */
  readonly attempts: ReadonlyMap<string, readonly RecordedRequest[]>;
  readonly rows: readonly LedgerRow[];
  /** Tokens by token id, as the daily sums have them. */
  readonly dailyTokens: ReadonlyMap<string, number>;
  /** Frozen costs by token id, in the same way. */
  readonly dailyCosts: ReadonlyMap<string, number>;
  readonly localDay: string;
  /** By how much clocks were wrong at most. */
  readonly clocksOffByMs: number;
  /** Today's tokens by token id, as the limiter's counters have them, if they are loaded. */
  readonly counterTokens: ReadonlyMap<string, number>;
  /** Leases that edges still running got, and whose end no broker had told a Redis in reach. */
  readonly unreportedLeases: readonly string[];
  /** How many reports edges gave up, after repeating them for as long as they do. */
  readonly reportsGivenUp: number;
  /** Leases by account at the end. */
  readonly leases: ReadonlyMap<string, number>;
  /** Requests that edges have not ended, by process. */
  readonly activeRequests: ReadonlyMap<string, number>;
  /** Usage that has not reached the ledger: in outboxes, and in the stream. */
  readonly undelivered: ReadonlyMap<string, number>;
  /** Requests whose tokens a repeated settle added to a counter again. */
  readonly settledTwice: readonly { readonly requestId: string; readonly tokens: number }[];
  /** When Redis lost acknowledged writes: windows may be too full by what it lost. */
  readonly redisLosses: readonly { readonly fromMs: number; readonly untilMs: number }[];
  /**
   * Requests that a power failure may lose, by the settings of stream and edge: tokens by id.
   */
  readonly mayBeLost: ReadonlyMap<string, number>;
  /** When usage was only in the memory of a process that ended, because its disk was full. */
  readonly memoryLosses: readonly { readonly process: string; readonly fromMs: number; readonly untilMs: number }[];
  /** How often edges had used what they knew of a token while identity did not answer. */
  readonly staleTokens: readonly CountAt[];
  readonly endedTexts: readonly EndedText[];
  readonly limitChanges: readonly LimitChange[];
  readonly groups: readonly TokenGroup[];
  readonly groupStates: readonly GroupState[];
  readonly fileChanges: readonly FileChange[];
  /** When faults hit processes, networks, stores or providers. */
  readonly troubles: readonly Trouble[];
  /** What gauges said of the memory of each process before the first request, and at the end. */
  readonly sizesAtStart: ReadonlyMap<string, number>;
  readonly sizes: ReadonlyMap<string, number>;
  readonly notes: readonly Note[];
  /** When processes died that decided alone: no one hands over what they admitted. */
  readonly lostAloneAtMs: readonly number[];
  readonly uncaught: readonly string[];
}

/** One promise of the gateway, and how to see that it was broken. */
export interface Checker {
  readonly promise: string;
  /** What broke the promise, for people. */
  check(evidence: Evidence): readonly string[];
}

/** Whether a request got an answer: the status and at least the start of the body. */
export function isAnswered({ status }: ClientRequest): boolean {
  return status === 200;
}

/** Whether the usage of a request may be missing, or an earlier state of it. */
export function mayBeLost({ mayBeLost: ids, memoryLosses }: Evidence, request: ClientRequest): boolean {
  const { requestId = '', edge, sentAtMs, endedAtMs = Number.POSITIVE_INFINITY } = request;
  const isHit = memoryLosses.some(
    ({ process, fromMs, untilMs }) => process === edge && endedAtMs >= fromMs && sentAtMs <= untilMs,
  );
  return isHit || ids.has(requestId);
}

/** As in the product's settings: how long an edge that hears of no change trusts what it knows. */
export const trustedMs = 30_000;

/** The limits of a token that edges may have applied at some time between two instants. */
export function limitsBetween(
  { limitChanges }: Evidence,
  { tokenId, requestsPerMinute }: ClientToken,
  fromMs: number,
  untilMs: number,
): readonly number[] {
  const changes = limitChanges.filter((change) => change.tokenId === tokenId);
  const valued = changes.map((change) => ({ ...change, value: change.requestsPerMinute }));
  return valuesBetween(requestsPerMinute, valued, fromMs, untilMs);
}

/** The budgets of a group that edges may have applied, in the same way. */
export function budgetsBetween(
  { budgetMicros, budgetChanges }: TokenGroup,
  fromMs: number,
  untilMs: number,
): readonly number[] {
  return valuesBetween(budgetMicros, budgetChanges, fromMs, untilMs);
}

function valuesBetween(
  usual: number,
  changes: TokenGroup['budgetChanges'],
  fromMs: number,
  untilMs: number,
): readonly number[] {
  const first = { value: usual, askedAtMs: Number.NEGATIVE_INFINITY };
  return [first, ...changes].flatMap(({ value, askedAtMs }, index) => {
    const endedAtMs = (changes[index]?.answeredAtMs ?? Number.POSITIVE_INFINITY) + trustedMs;
    return askedAtMs <= untilMs && endedAtMs >= fromMs ? [value] : [];
  });
}

/** The group of each recorded request, by its id. */
export function groupsById({ rows }: Evidence): ReadonlyMap<string, string> {
  return new Map(rows.map(({ requestId, groupId }) => [requestId, groupId]));
}

/** The number of decisions that were made alone between two instants, with a second of margin. */
export function madeAlone({ notes }: Evidence, fromMs: number, untilMs: number): number {
  const at = (atMs: number) => notes.findLast((note) => note.atMs <= atMs)?.edges ?? 0;
  return at(untilMs + 1_000) - at(fromMs - 1_000);
}

/** The window of requests per minute. */
export const windowMs = 60_000;

/** Whether no one decided alone, and no one who did died in the minute before. */
export function areTogether(evidence: Evidence, fromMs: number, untilMs: number): boolean {
  const { notes, lostAloneAtMs } = evidence;
  if (lostAloneAtMs.some((atMs) => atMs > fromMs - windowMs && atMs <= untilMs)) return false;
  if (madeAlone(evidence, fromMs, untilMs) > 0) return false;
  return !notes.some(({ atMs, wasAnyAway }) => wasAnyAway && atMs >= fromMs && atMs <= untilMs + 1_000);
}

/** The number of uses of what edges knew of a token, in the same way. */
export function staleAnswers({ staleTokens }: Evidence, fromMs: number, untilMs: number): number {
  return countBetween(staleTokens, fromMs, untilMs);
}

function countBetween(counts: readonly CountAt[], fromMs: number, untilMs: number): number {
  const until = (atMs: number) => counts.findLast((noted) => noted.atMs <= atMs)?.count ?? 0;
  return until(untilMs + 1_000) - until(fromMs - 1_000);
}
