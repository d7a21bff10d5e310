import { toJson } from '@bufbuild/protobuf';
import { plusSums, type StoredOutcome, summedColumns, type UsageEventsTable, type UsageSums } from '@gateway/database';
import { unpricedIn } from '@gateway/prices';
import { type UsagePart, UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LedgerOutcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { isLocalDay } from '@gateway/time';
import type { Selectable } from 'kysely';

/** One request in the ledger. */
export type LedgerEntry = Selectable<UsageEventsTable>;

/** A row of the daily sums, or an increment for it. */
export interface DailySum extends UsageSums {
  readonly token_id: string;
  readonly local_day: string;
  readonly provider: string;
  readonly model: string;
  readonly account_id: string;
  readonly group_id: string;
}

/** The result of storing a batch. Entries that are not listed were already in the ledger. */
export interface RecordedBatch {
  readonly fresh: ReadonlySet<LedgerEntry>;
  /** Entries of days that are no longer kept: they may already have been counted. */
  readonly tooOld: ReadonlySet<LedgerEntry>;
}

/**
 * Converts an event to a ledger entry that every database accepts; otherwise returns why it can't
 * be one.
 */
export function readEvent(event: UsageRecorded): LedgerEntry | string {
  const outcome = outcomes[event.outcome];
  const problem = problemOf(event) ?? problemOfParts(event.parts);
  if (problem !== undefined) return problem;
  if (outcome === undefined) return 'outcome is unknown';
  const unpriced = unpricedIn(event.parts);
  return {
    request_id: event.requestId,
    token_id: event.tokenId,
    admitted_at_ms: event.admittedAtMs,
    local_day: event.localDay,
    endpoint: event.endpoint,
    provider: event.provider,
    model: event.model,
    input_tokens: event.inputTokens,
    cached_tokens: event.cachedTokens,
    cache_write_5m_tokens: event.cacheWrite5mTokens,
    cache_write_1h_tokens: event.cacheWrite1hTokens,
    output_tokens: event.outputTokens,
    reasoning_tokens: event.reasoningTokens,
    estimated: event.estimated ? 1 : 0,
    outcome,
    account_id: event.accountId,
    group_id: event.groupId,
    cost_micros: event.costMicros ?? null,
    parts: event.parts.length === 0 ? null : JSON.stringify(event.parts.map((part) => toJson(UsagePartSchema, part))),
    unpriced_tokens: unpriced.tokens,
    unpriced_calls: unpriced.calls,
  };
}

/**
 * The increments that entries add to the daily sums. A request counts when its entry names a
 * provider, whatever its ending, but not if it is lost.
 */
export function dailySums(entries: readonly LedgerEntry[]): readonly DailySum[] {
  return addUp(entries.map(sumOfOne));
}

/**
 * One row for each token, local day, provider, model, account and group, sorted by that key; rows
 * of zeros are left out. Every writer locks rows in this order, so that two writers can't deadlock.
 */
export function addUp(sums: readonly DailySum[]): readonly DailySum[] {
  const inOrder = [...Map.groupBy(sums, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  return inOrder
    .map(([, ofKey]) => ofKey.reduce((sum, other) => plus(sum, other)))
    .filter((sum) => summedColumns.some((column) => sum[column] !== 0));
}

/** No text in the ledger contains NUL, so keys are unique. */
export function keyOf({ token_id, local_day, provider, model, account_id, group_id }: DailySum): string {
  return `${token_id}\0${local_day}\0${provider}\0${model}\0${account_id}\0${group_id}`;
}

/** What takes a sum back. */
export function negative(sum: DailySum): DailySum {
  return plus(plus(sum, sum, -1), sum, -1);
}

/** A sum with another one added or subtracted. */
export function plus(sum: DailySum, other: DailySum, sign: 1 | -1 = 1): DailySum {
  return { ...sum, ...plusSums(sum, other, sign) };
}

function sumOfOne(entry: LedgerEntry): DailySum {
  const { token_id, local_day, provider, model, account_id, group_id, cost_micros } = entry;
  const { input_tokens, cached_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens } = entry;
  // What had no price as it was served keeps none: the usual price of today would be wrong for it.
  const isCosted = cost_micros !== null || entry.parts !== null;
  return {
    ...{ token_id, local_day, provider, model, account_id, group_id },
    requests: provider !== '' && entry.outcome !== 'lost' && entry.outcome !== 'given_up' ? 1 : 0,
    ...{ input_tokens, cached_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens },
    cost_micros: cost_micros ?? 0,
    costed_input_tokens: isCosted ? input_tokens : 0,
    costed_cached_tokens: isCosted ? cached_tokens : 0,
    costed_cache_write_5m_tokens: isCosted ? cache_write_5m_tokens : 0,
    costed_cache_write_1h_tokens: isCosted ? cache_write_1h_tokens : 0,
    costed_output_tokens: isCosted ? output_tokens : 0,
    ...{ unpriced_tokens: entry.unpriced_tokens, unpriced_calls: entry.unpriced_calls },
  };
}

const outcomes: Readonly<Record<LedgerOutcome, StoredOutcome | undefined>> = {
  [LedgerOutcome.UNSPECIFIED]: undefined,
  [LedgerOutcome.COMPLETED]: 'completed',
  [LedgerOutcome.ABORTED]: 'aborted',
  [LedgerOutcome.FAILED]: 'failed',
  [LedgerOutcome.LOST]: 'lost',
  [LedgerOutcome.GIVEN_UP]: 'given_up',
};

function problemOf(event: UsageRecorded): string | undefined {
  if (event.requestId === '') return 'request_id is empty';
  if (event.tokenId === '') return 'token_id is empty';
  const text = textFields.find((name) => !isStorableText(event[name]));
  if (text !== undefined) return `${text} is a text that cannot be stored`;
  if (!isLocalDay(event.localDay)) return 'localDay is not a day';
  if (!Number.isSafeInteger(event.admittedAtMs) || event.admittedAtMs <= 0) return 'admittedAtMs is not a time';
  const count = countFields.find((name) => !isCount(event[name]));
  if (count !== undefined) return `${count} is not a number of tokens`;
  return isCost(event.costMicros) ? undefined : 'costMicros is not a cost';
}

function problemOfParts(parts: readonly UsagePart[]): string | undefined {
  if (parts.length > maxParts) return 'parts are too many';
  const calls = parts.flatMap(({ toolCalls }) => toolCalls);
  const texts = parts.flatMap(({ kind, model, ...served }) => [
    kind,
    model,
    ...servedFields.map((name) => served[name]),
  ]);
  if (![...texts, ...calls.map(({ tool }) => tool)].every(isStorableText))
    return 'parts have a text that cannot be stored';
  const counts = parts.flatMap((part) => countsOfPart.map((name) => part[name]));
  if (![...counts, ...calls.map((each) => each.calls)].every(isCount)) return 'parts have what is not a number';
  return [...parts, ...calls].every(({ costMicros }) => isCost(costMicros))
    ? undefined
    : 'parts have what is not a cost';
}

const textFields = ['requestId', 'tokenId', 'endpoint', 'provider', 'model', 'accountId', 'groupId'] as const;
const countFields = [
  'inputTokens',
  'cachedTokens',
  'cacheWrite5mTokens',
  'cacheWrite1hTokens',
  'outputTokens',
  'reasoningTokens',
] as const;
const servedFields = ['serviceTier', 'speed', 'geography'] as const;
const countsOfPart = countFields.filter((name) => name !== 'reasoningTokens');
/** More than an edge sends. */
const maxParts = 100;
const maxTextLength = 512;
/** The highest token count that adapters accept, which is more than any request can use. */
const maxTokens = 2 ** 40;
/** A thousand million of the currency: more than any request can cost. */
const maxCostMicros = 2 ** 50;

/** Postgres does not accept NUL in a text. */
function isStorableText(text: string): boolean {
  return text.length <= maxTextLength && !text.includes('\0') && text.isWellFormed();
}

function isCount(count: number): boolean {
  return Number.isInteger(count) && count >= 0 && count <= maxTokens;
}

function isCost(micros = 0): boolean {
  return Number.isInteger(micros) && micros >= 0 && micros <= maxCostMicros;
}
