import { create, toJson } from '@bufbuild/protobuf';
import {
  keyColumns,
  plusSums,
  type StoredOutcome,
  summedColumns,
  type UsageEventsTable,
  type UsageSums,
} from '@gateway/database';
import { outcomeOf } from '@gateway/presentation/request-usage';
import { unpricedIn } from '@gateway/prices';
import {
  type Usage,
  type UsagePart,
  UsagePartSchema,
  UsageSchema,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  type RecordedAttempt,
  RequestEnding,
  type RequestRecorded,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { isLocalDay } from '@gateway/time';
import type { Selectable } from 'kysely';

/** One request in the ledger. */
export type LedgerEntry = Selectable<UsageEventsTable>;

/** A row of the daily sums, or an increment for it. */
export type DailySum = UsageSums & Readonly<Record<(typeof keyColumns)[number], string>>;

/** The result of storing a batch. Entries that are not listed were already in the ledger. */
export interface RecordedBatch {
  readonly fresh: ReadonlySet<LedgerEntry>;
  /** Entries of days that are no longer kept: they may already have been counted. */
  readonly tooOld: ReadonlySet<LedgerEntry>;
}

/**
 * Converts a request to entries that every database accepts, one for each attempt with usage;
 * otherwise returns why it can't be recorded.
 */
export function readRecord(record: RequestRecorded): readonly LedgerEntry[] | string {
  const { attempts } = record;
  const used = attempts.filter(({ usage }) => usage !== undefined);
  if (used.length === 0) return [];
  const problem = problemOf(record) ?? problemOfAttempts(attempts);
  if (problem !== undefined) return problem;
  const outcome = outcomeOf(record);
  // The next attempt may have used another account and another model.
  return used.map((attempt) => entryOf(record, attempt, attempt === attempts.at(-1) ? outcome : 'given_up'));
}

function entryOf(record: RequestRecorded, attempt: RecordedAttempt, outcome: StoredOutcome): LedgerEntry {
  const { tokenId, groupId, admittedAtMs, localDay, endpoint, attempts } = record;
  // The edge charges it by this id.
  const place = attempts.indexOf(attempt) + 1;
  const { provider, model, accountId, usage = noUsage, costMicros } = attempt;
  const { parts } = usage;
  const unpriced = unpricedIn(parts);
  return {
    request_id: place === attempts.length ? record.requestId : `${record.requestId}/${place}`,
    token_id: tokenId,
    admitted_at_ms: admittedAtMs,
    local_day: localDay,
    endpoint,
    provider,
    model,
    input_tokens: usage.inputTokens,
    cached_tokens: usage.cachedTokens,
    cache_write_5m_tokens: usage.cacheWrite5mTokens,
    cache_write_1h_tokens: usage.cacheWrite1hTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    estimated: usage.estimated ? 1 : 0,
    outcome,
    account_id: accountId,
    group_id: groupId,
    cost_micros: costMicros ?? null,
    parts: parts.length === 0 ? null : JSON.stringify(parts.map((part) => toJson(UsagePartSchema, part))),
    unpriced_tokens: unpriced.tokens,
    unpriced_calls: unpriced.calls,
  };
}

const noUsage = create(UsageSchema);

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
export function keyOf(sum: DailySum): string {
  return keyColumns.map((column) => sum[column]).join('\0');
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

function problemOf(record: RequestRecorded): string | undefined {
  if (record.requestId === '') return 'request_id is empty';
  if (record.tokenId === '') return 'token_id is empty';
  const text = textFields.find((name) => !isStorableText(record[name]));
  if (text !== undefined) return `${text} is a text that cannot be stored`;
  if (!isLocalDay(record.localDay)) return 'localDay is not a day';
  if (!Number.isSafeInteger(record.admittedAtMs) || record.admittedAtMs <= 0) return 'admittedAtMs is not a time';
  return RequestEnding[record.ending] === undefined ? 'ending is unknown' : undefined;
}

function problemOfAttempts(attempts: readonly RecordedAttempt[]): string | undefined {
  if (attempts.length > maxAttempts) return 'attempts are too many';
  for (const { usage, costMicros, ...attempt } of attempts) {
    if (usage === undefined) continue;
    const text = attemptTextFields.find((name) => !isStorableText(attempt[name]));
    if (text !== undefined) return `${text} is a text that cannot be stored`;
    const problem = problemOfUsage(usage);
    if (problem !== undefined) return problem;
    if (!isCost(costMicros)) return 'costMicros is not a cost';
  }
  return undefined;
}

function problemOfUsage(usage: Usage): string | undefined {
  const count = countFields.find((name) => !isCount(usage[name]));
  if (count !== undefined) return `${count} is not a number of tokens`;
  return problemOfParts(usage.parts);
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

const textFields = ['requestId', 'tokenId', 'endpoint', 'groupId'] as const;
const attemptTextFields = ['provider', 'model', 'accountId'] as const;
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
const maxAttempts = 200;
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
