import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { eventDaysOf, type GatewayDatabase } from '@gateway/database';
import { RequestEnding, type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { localDayOf } from '@gateway/time';

export type LogFields = Exclude<MessageInitShape<typeof RequestLoggedSchema>, { readonly $typeName: string }>;

/** A completed request at this time; requests at the same time need different numbers. */
export function loggedRequest(receivedAtMs: number, fields: LogFields = {}, number = 0): RequestLogged {
  return create(RequestLoggedSchema, {
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

/** Adds requests to the log like usage-ingest, or like that of the previous release. */
export async function storeLogs(
  database: GatewayDatabase,
  logs: readonly RequestLogged[],
  { isOlder = false }: { readonly isOlder?: boolean } = {},
): Promise<void> {
  if (logs.length === 0) return;
  const rows = logs.map((log) => (isOlder ? olderRow(log) : { ...olderRow(log), ...newerColumns(log) }));
  await eventDaysOf(database, 'request_log').open(rows.map(({ local_day }) => local_day));
  for (let start = 0; start < rows.length; start += 1_000) {
    await database
      .insertInto('request_log')
      .values(rows.slice(start, start + 1_000))
      .execute();
  }
}

function olderRow(log: RequestLogged) {
  const receivedAtMs = log.receivedAtMs === undefined ? 0 : log.receivedAtMs;
  return {
    request_id: log.requestId,
    local_day: localDayOf(receivedAtMs),
    token_id: log.tokenId,
    received_at_ms: receivedAtMs,
    ending: log.ending,
    moved: log.moved ? 1 : 0,
    slow: log.slow ? 1 : 0,
    models: `\n${[log.model, ...log.attempts.map(({ model }) => model)].join('\n')}\n`,
    entry: Buffer.from(toBinary(RequestLoggedSchema, log)).toString('base64'),
  };
}

function newerColumns(log: RequestLogged) {
  const { status, endpoint, attempts, clientRequestId } = log;
  return {
    entry: '',
    entry_bytes: toBinary(RequestLoggedSchema, log),
    status,
    endpoint,
    accounts: `\n${attempts.map(({ accountId }) => accountId).join('\n')}\n`,
    client_request_id: clientRequestId,
    logged_at_ms: Date.now(),
  };
}
