import { toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Database, type EventDays, firstKeptDay, type GatewayDatabase } from '@gateway/database';
import { type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { localDayOf } from '@gateway/time';
import type { LedgerParts } from './usage-ledger.ts';

/** The log of what became of requests, in SQLite or Postgres. */
export class RequestLogStore {
  readonly #database: GatewayDatabase;
  /** The days of `request_log`. */
  readonly #days: EventDays;

  constructor({ database, days }: LedgerParts) {
    this.#database = database;
    this.#days = days;
  }

  /** Stores entries, each once. Those of days that are no longer kept, and those without an id or a time, are left out. */
  async add(logs: readonly RequestLogged[]): Promise<void> {
    const rows = logs.flatMap((log) => toRow(log) ?? []);
    if (rows.length === 0) return;
    const days = rows.map(({ local_day }) => local_day);
    await this.#days.insertInto(days, async () => {
      const firstKept = await firstKeptDay(this.#database, 'request_log');
      const kept = rows.filter(({ local_day }) => local_day >= firstKept);
      if (kept.length === 0) return;
      await this.#database
        .insertInto('request_log')
        .values(kept.toSorted((a, b) => (a.request_id < b.request_id ? -1 : 1)))
        .onConflict((conflict) => conflict.columns(['local_day', 'request_id']).doNothing())
        .execute();
    });
  }
}

function toRow(log: RequestLogged): Database['request_log'] | undefined {
  const { requestId, tokenId, receivedAt, ending, moved, slow, model, attempts } = log;
  const receivedAtMs = receivedAt === undefined ? Number.NaN : timestampMs(receivedAt);
  if (requestId === '' || !Number.isSafeInteger(receivedAtMs) || receivedAtMs < 0) return undefined;
  const models = new Set([model, ...attempts.map((attempt) => attempt.model)]);
  return {
    request_id: storable(requestId),
    local_day: localDayOf(receivedAtMs),
    token_id: storable(tokenId),
    received_at_ms: receivedAtMs,
    ending,
    moved: moved ? 1 : 0,
    slow: slow ? 1 : 0,
    models: storable(`\n${[...models].join('\n')}\n`),
    entry: Buffer.from(toBinary(RequestLoggedSchema, log)).toString('base64'),
  };
}

/** Postgres takes no NUL in a text. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
