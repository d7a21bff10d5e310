import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type StoredOutcome,
  summedColumns,
  type UsageDailyByAccountTable,
  type UsageEventsTable,
} from '@gateway/database';
import { LedgerOutcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { isLocalDay } from '@gateway/time';

/** One request in the ledger. */
export type LedgerEntry = UsageEventsTable;

/**
 * A row of the daily sums, or an increment for it. With an empty `account_id` it is the sum over
 * all accounts, including the unknown one.
 */
export type DailySum = UsageDailyByAccountTable;

/** The result of storing a batch. Entries that are not listed were already in the ledger. */
export interface RecordedBatch {
  readonly fresh: ReadonlySet<LedgerEntry>;
  /** Entries of days that are no longer kept: they may already have been counted. */
  readonly tooOld: ReadonlySet<LedgerEntry>;
  /** Why the database rejected the entries of the request log. */
  readonly logRefusal?: Error;
}

/**
 * Converts an event to a ledger entry that every database accepts; otherwise returns why it can't
 * be one.
 */
export function readEvent(event: UsageRecorded): LedgerEntry | string {
  const outcome = outcomes[event.outcome];
  const admittedAtMs = event.admittedAt === undefined ? Number.NaN : timestampMs(event.admittedAt);
  const problem = problemOf(event, admittedAtMs);
  if (problem !== undefined) return problem;
  if (outcome === undefined) return 'outcome is unknown';
  return {
    request_id: event.requestId,
    token_id: event.tokenId,
    admitted_at_ms: admittedAtMs,
    local_day: event.localDay,
    endpoint: event.endpoint,
    provider: event.provider,
    model: event.model,
    input_tokens: Number(event.inputTokens),
    cached_tokens: Number(event.cachedTokens),
    output_tokens: Number(event.outputTokens),
    reasoning_tokens: Number(event.reasoningTokens),
    estimated: event.estimated ? 1 : 0,
    outcome,
    account_id: event.accountId,
  };
}

/**
 * The increments that entries add to the daily sums. A request counts when its entry names a
 * provider, whatever its ending, but not if it is lost.
 */
export function dailySums(entries: readonly LedgerEntry[]): readonly DailySum[] {
  return addUp(withTotals(entries.map(sumOfOne)));
}

/** Sums per account, together with those of all accounts. */
export function withTotals(sums: readonly DailySum[]): readonly DailySum[] {
  return [...sums.map((sum) => ({ ...sum, account_id: '' })), ...sums.filter(({ account_id }) => account_id !== '')];
}

/**
 * One row for each token, local day, provider, model and account, sorted by that key; rows of zeros
 * are left out. Every writer locks rows in this order, so that two writers can't deadlock.
 */
export function addUp(sums: readonly DailySum[]): readonly DailySum[] {
  const inOrder = [...Map.groupBy(sums, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  return inOrder
    .map(([, ofKey]) => ofKey.reduce((sum, other) => plus(sum, other)))
    .filter((sum) => summedColumns.some((column) => sum[column] !== 0));
}

/** No text in the ledger contains NUL, so keys are unique. */
export function keyOf({ token_id, local_day, provider, model, account_id }: DailySum): string {
  return `${token_id}\0${local_day}\0${provider}\0${model}\0${account_id}`;
}

/** A sum with another one added or subtracted. */
export function plus(sum: DailySum, other: DailySum, sign: 1 | -1 = 1): DailySum {
  return {
    ...sum,
    requests: sum.requests + sign * other.requests,
    input_tokens: sum.input_tokens + sign * other.input_tokens,
    cached_tokens: sum.cached_tokens + sign * other.cached_tokens,
    output_tokens: sum.output_tokens + sign * other.output_tokens,
  };
}

function sumOfOne(entry: LedgerEntry): DailySum {
  const { token_id, local_day, provider, model, account_id, input_tokens, cached_tokens, output_tokens } = entry;
  const requests = provider !== '' && entry.outcome !== 'lost' && entry.outcome !== 'given_up' ? 1 : 0;
  return { token_id, local_day, provider, model, account_id, requests, input_tokens, cached_tokens, output_tokens };
}

const outcomes: Readonly<Record<LedgerOutcome, StoredOutcome | undefined>> = {
  [LedgerOutcome.UNSPECIFIED]: undefined,
  [LedgerOutcome.COMPLETED]: 'completed',
  [LedgerOutcome.ABORTED]: 'aborted',
  [LedgerOutcome.FAILED]: 'failed',
  [LedgerOutcome.LOST]: 'lost',
  [LedgerOutcome.GIVEN_UP]: 'given_up',
};

function problemOf(event: UsageRecorded, admittedAtMs: number): string | undefined {
  if (event.requestId === '') return 'request_id is empty';
  if (event.tokenId === '') return 'token_id is empty';
  const text = textFields.find((name) => !isStorableText(event[name]));
  if (text !== undefined) return `${text} is a text that cannot be stored`;
  if (!isLocalDay(event.localDay)) return 'localDay is not a day';
  if (!Number.isSafeInteger(admittedAtMs) || admittedAtMs < 0) return 'admittedAt is not a time';
  const count = countFields.find((name) => event[name] < 0n || event[name] > maxTokens);
  return count === undefined ? undefined : `${count} is not a number of tokens`;
}

const textFields = ['requestId', 'tokenId', 'endpoint', 'provider', 'model', 'accountId'] as const;
const countFields = ['inputTokens', 'cachedTokens', 'outputTokens', 'reasoningTokens'] as const;
const maxTextLength = 512;
/** The highest token count that adapters accept, which is more than any request can use. */
const maxTokens = 2n ** 40n;

/** Postgres does not accept NUL in a text. */
function isStorableText(text: string): boolean {
  return text.length <= maxTextLength && !text.includes('\0') && text.isWellFormed();
}
