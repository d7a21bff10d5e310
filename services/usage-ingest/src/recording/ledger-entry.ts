import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { StoredOutcome, UsageEventsTable } from '@gateway/database';
import { Outcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';

/** One request as the ledger keeps it. */
export type LedgerEntry = UsageEventsTable;

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
  return { kind: 'entry', entry: toEntry(event, outcome, admittedAtMs) };
}

/** Whether a text is a day of the calendar, such as 2026-11-20. */
export function isLocalDay(text: string): boolean {
  if (text === latestDay) return true;
  if (!isCalendarDay(text)) return false;
  latestDay = text;
  return true;
}

// Nearly all events are of one day, and looking it up in the calendar costs more than the rest of reading an event.
let latestDay: string | undefined;

function isCalendarDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** The most that adapters take for a count of tokens, which is more than any request can use. */
const maxTokens = 2n ** 40n;
const maxTextLength = 512;

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

/** Postgres takes no NUL in a text. */
function isStorableText(text: string): boolean {
  return text.length <= maxTextLength && !text.includes('\0') && text.isWellFormed();
}

function toEntry(event: UsageRecorded, outcome: StoredOutcome, admittedAtMs: number): LedgerEntry {
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
  };
}
