import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { eventDaysOf, type GatewayDatabase } from '@gateway/database';
import {
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { localDayOf } from '@gateway/time';

export type LogFields = Exclude<MessageInitShape<typeof RequestRecordedSchema>, { readonly $typeName: string }>;

/** A completed request at this time; requests at the same time need different numbers. */
export function loggedRequest(receivedAtMs: number, fields: LogFields = {}, number = 0): RequestRecorded {
  return create(RequestRecordedSchema, {
    requestId: requestIdAt(receivedAtMs, number),
    receivedAtMs,
    tokenId: 't',
    endpoint: '/v1/chat/completions',
    model: 'gateway/sterk',
    ending: RequestEnding.COMPLETED,
    status: 200,
    ...fields,
  });
}

/** @see RFC 9562, UUID version 7 */
export function requestIdAt(ms: number, number = 0): string {
  const digits = ms.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${number.toString(16).padStart(12, '0')}`;
}

/** Adds requests to the log like usage-ingest. */
export async function storeLogs(database: GatewayDatabase, logs: readonly RequestRecorded[]): Promise<void> {
  if (logs.length === 0) return;
  const rows = logs.map(rowOf);
  await eventDaysOf(database, 'request_log').open(rows.map(({ local_day }) => local_day));
  for (let start = 0; start < rows.length; start += 1_000) {
    await database
      .insertInto('request_log')
      .values(rows.slice(start, start + 1_000))
      .execute();
  }
}

function rowOf(log: RequestRecorded) {
  const { receivedAtMs = 0, attempts } = log;
  return {
    request_id: log.requestId,
    local_day: localDayOf(receivedAtMs),
    token_id: log.tokenId,
    received_at_ms: receivedAtMs,
    ending: log.ending,
    moved: attempts.length > 1 ? 1 : 0,
    slow: log.slow ? 1 : 0,
    models: `\n${[log.model, ...attempts.map(({ model }) => model)].join('\n')}\n`,
    entry_bytes: toBinary(RequestRecordedSchema, log),
    status: log.status,
    endpoint: log.endpoint,
    accounts: `\n${attempts.map(({ accountId }) => accountId).join('\n')}\n`,
    client_request_id: log.clientRequestId,
    logged_at_ms: Date.now(),
  };
}
