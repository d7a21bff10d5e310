import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { StoredOutcome, UsageDailyTable, UsageEventsTable } from '@gateway/database';
import { Outcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { isLocalDay } from '@gateway/time';

/** One request as the ledger keeps it. */
export type LedgerEntry = UsageEventsTable;

/** One row of the daily sums, or what is added to it. */
export type DailySum = UsageDailyTable;

/** An event as a ledger entry, or why it can't be one. */
export type ReadEvent =
  | { readonly kind: 'entry'; readonly entry: LedgerEntry }
  | { readonly kind: 'unusable'; readonly reason: string };

/** Checks an event as it came. What passes here is taken by every database. */
export function readEvent(event: UsageRecorded): ReadEvent {
  const outcome = outcomes[event.outcome];
  const admittedAtMs = event.admittedAt === undefined ? Number.NaN : timestampMs(event.admittedAt);
  const reason = problemOf(event, admittedAtMs);
  if (reason !== undefined) return { kind: 'unusable', reason };
  if (outcome === undefined) return { kind: 'unusable', reason: 'outcome is not known' };
  const entry: LedgerEntry = {
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
  };
  return { kind: 'entry', entry };
}

/** What entries add to the daily sums. A request is counted when a provider answered it, however it ended. */
export function dailySums(entries: readonly LedgerEntry[]): readonly DailySum[] {
  const isAnswered = ({ provider, outcome }: LedgerEntry) => provider !== '' && outcome !== 'lost';
  return addUp(entries.map((entry) => ({ ...entry, requests: isAnswered(entry) ? 1 : 0 })));
}

/**
 * One row for each token, local day, provider and model, in the order of that key; none that adds nothing. Every writer locks rows in
 * this order, so that two of them can't wait for each other.
 */
export function addUp(sums: readonly DailySum[]): readonly DailySum[] {
  const byKey = [...Map.groupBy(sums, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  return byKey.flatMap(([, ofKey]) => {
    const sum = sumOf(ofKey);
    return sum === undefined || isNothing(sum) ? [] : sum;
  });
}

/** NUL can't be in a text of the ledger, so that no two keys look alike. */
export function keyOf({ token_id, local_day, provider, model }: DailySum): string {
  return `${token_id}\0${local_day}\0${provider}\0${model}`;
}

/** What has to be added to one sum to make it another. */
export function differenceOf(wanted: DailySum, sum: DailySum): DailySum {
  return {
    ...sum,
    requests: wanted.requests - sum.requests,
    input_tokens: wanted.input_tokens - sum.input_tokens,
    cached_tokens: wanted.cached_tokens - sum.cached_tokens,
    output_tokens: wanted.output_tokens - sum.output_tokens,
  };
}

export function isNothing({ requests, input_tokens, cached_tokens, output_tokens }: DailySum): boolean {
  return [requests, input_tokens, cached_tokens, output_tokens].every((amount) => amount === 0);
}

const outcomes: Readonly<Record<Outcome, StoredOutcome | undefined>> = {
  [Outcome.UNSPECIFIED]: undefined,
  [Outcome.COMPLETED]: 'completed',
  [Outcome.ABORTED]: 'aborted',
  [Outcome.FAILED]: 'failed',
  [Outcome.LOST]: 'lost',
};

function problemOf(event: UsageRecorded, admittedAtMs: number): string | undefined {
  if (event.requestId === '') return 'request_id is empty';
  if (event.tokenId === '') return 'token_id is empty';
  const text = textFields.find((name) => !isStorableText(event[name]));
  if (text !== undefined) return `${text} is not a text that can be stored`;
  if (!isLocalDay(event.localDay)) return 'localDay is not a day';
  if (!Number.isSafeInteger(admittedAtMs) || admittedAtMs < 0) return 'admittedAt is not a moment';
  const count = countFields.find((name) => event[name] < 0n || event[name] > maxTokens);
  return count === undefined ? undefined : `${count} is not a number of tokens`;
}

const textFields = ['requestId', 'tokenId', 'endpoint', 'provider', 'model'] as const;
const countFields = ['inputTokens', 'cachedTokens', 'outputTokens', 'reasoningTokens'] as const;
const maxTextLength = 512;
/** The most that adapters take for a count of tokens, which is more than any request can use. */
const maxTokens = 2n ** 40n;

/** Postgres takes no NUL in a text. */
function isStorableText(text: string): boolean {
  return text.length <= maxTextLength && !text.includes('\0') && text.isWellFormed();
}

function sumOf([first, ...others]: readonly DailySum[]): DailySum | undefined {
  if (first === undefined) return undefined;
  const { token_id, local_day, provider, model } = first;
  let { requests, input_tokens, cached_tokens, output_tokens } = first;
  for (const other of others) {
    requests += other.requests;
    input_tokens += other.input_tokens;
    cached_tokens += other.cached_tokens;
    output_tokens += other.output_tokens;
  }
  return { token_id, local_day, provider, model, requests, input_tokens, cached_tokens, output_tokens };
}
