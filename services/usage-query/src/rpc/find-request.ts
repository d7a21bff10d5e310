import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { GatewayDatabase, UsageEventsTable } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import type { FindRequestRequest } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { Outcome, type UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { addLocalDays, localDayOf } from '@gateway/time';
import { timesOfId } from '../request-log/request-id.ts';

/** What the ledger and the request log have of one request. */
export async function findRequest(database: GatewayDatabase, { requestId }: FindRequestRequest) {
  const times = requestId.length === 36 ? timesOfId(requestId) : undefined;
  if (times === undefined) throw new GatewayError('invalid_request', 'request_id is not the id of a request.');
  const day = localDayOf(times.firstMs);
  // It is kept with the day of its id, or one beside it.
  const days = [addLocalDays(day, -1), day, addLocalDays(day, 1)];
  const [recorded, logged] = await Promise.all([
    database
      .selectFrom('usage_events')
      .selectAll()
      .where('local_day', 'in', days)
      .where('request_id', '=', requestId)
      .executeTakeFirst(),
    database
      .selectFrom('request_log')
      .select(['entry', 'logged_at_ms'])
      .where('local_day', 'in', days)
      .where('request_id', '=', requestId)
      .executeTakeFirst(),
  ]);
  return {
    ...(recorded === undefined ? {} : { request: toRecordedMessage(recorded) }),
    ...(logged === undefined ? {} : { log: readLogged(logged), ...timeOf(logged.logged_at_ms) }),
  };
}

/** A release before did not note it. */
function timeOf(loggedAtMs: number | null) {
  return loggedAtMs === null ? {} : { loggedAt: timestampFromMs(loggedAtMs) };
}

export function readLogged({ entry }: { readonly entry: string }) {
  return fromBinary(RequestLoggedSchema, Buffer.from(entry, 'base64'));
}

function toRecordedMessage(row: UsageEventsTable): MessageInitShape<typeof UsageRecordedSchema> {
  return {
    requestId: row.request_id,
    tokenId: row.token_id,
    admittedAt: timestampFromMs(row.admitted_at_ms),
    localDay: row.local_day,
    endpoint: row.endpoint,
    provider: row.provider,
    model: row.model,
    inputTokens: BigInt(row.input_tokens),
    cachedTokens: BigInt(row.cached_tokens),
    outputTokens: BigInt(row.output_tokens),
    reasoningTokens: BigInt(row.reasoning_tokens),
    estimated: row.estimated === 1,
    outcome: outcomes[row.outcome],
    accountId: row.account_id,
  };
}

const outcomes: Readonly<Record<UsageEventsTable['outcome'], Outcome>> = {
  completed: Outcome.COMPLETED,
  aborted: Outcome.ABORTED,
  failed: Outcome.FAILED,
  lost: Outcome.LOST,
};
