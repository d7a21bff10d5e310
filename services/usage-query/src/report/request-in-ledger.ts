import { fromJson, type JsonValue, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayDatabase, UsageEventsTable } from '@gateway/database';
import { type UsagePart, UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  type RecordedAttemptSchema,
  RequestEnding,
  type RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { LocalDay } from '@gateway/time';
import type { Selectable } from 'kysely';

/** What the ledger knows of a request, from its row and those of attempts that were given up. */
export async function requestInLedger(
  database: GatewayDatabase,
  requestId: string,
  days: readonly LocalDay[],
): Promise<MessageInitShape<typeof RequestRecordedSchema> | undefined> {
  const rows = await database
    .selectFrom('usage_events')
    .selectAll()
    .where('local_day', 'in', days)
    // The ids of attempts continue that of the request with a slash, which precedes the 0.
    .where('request_id', '>=', requestId)
    .where('request_id', '<', `${requestId}0`)
    .execute();
  const inOrder = rows.toSorted((a, b) => placeOf(a) - placeOf(b));
  const last = inOrder.at(-1);
  if (last === undefined) return undefined;
  return {
    requestId,
    tokenId: last.token_id,
    groupId: last.group_id,
    admittedAtMs: last.admitted_at_ms,
    localDay: last.local_day,
    endpoint: last.endpoint,
    attempts: inOrder.map(toAttempt),
    ending: endings[last.outcome],
  };
}

type LedgerRow = Selectable<UsageEventsTable>;

/** The request's own row, whose id has no number, is the last. */
function placeOf({ request_id: id }: LedgerRow): number {
  return Number(id.split('/')[1] ?? Infinity);
}

function toAttempt(row: LedgerRow): MessageInitShape<typeof RecordedAttemptSchema> {
  const usage = {
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    cacheWrite5mTokens: row.cache_write_5m_tokens,
    cacheWrite1hTokens: row.cache_write_1h_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    estimated: row.estimated === 1,
    parts: partsIn(row.parts),
  };
  const { provider, model, account_id: accountId, cost_micros: costMicros } = row;
  return { provider, model, accountId, usage, ...(costMicros !== null && { costMicros }) };
}

function partsIn(text: string | null): UsagePart[] {
  const parts: JsonValue[] = text === null ? [] : JSON.parse(text);
  return parts.map((part) => fromJson(UsagePartSchema, part, { ignoreUnknownFields: true }));
}

const endings: Readonly<Record<UsageEventsTable['outcome'], RequestEnding>> = {
  completed: RequestEnding.COMPLETED,
  aborted: RequestEnding.ABORTED,
  failed: RequestEnding.FAILED,
  lost: RequestEnding.UNSPECIFIED,
  // The request has no row of its own: its last attempt used nothing.
  given_up: RequestEnding.FAILED,
};
