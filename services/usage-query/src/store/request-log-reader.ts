import { fromBinary } from '@bufbuild/protobuf';
import type { GatewayDatabase } from '@gateway/database';
import { type RequestEnding, type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { addLocalDays, localDayOf } from '@gateway/time';
import { sql } from 'kysely';

/** Which requests are looked for. Absent members: all. */
export interface RequestQuery {
  readonly tokenId?: string;
  /** As clients named it, or as providers know it. */
  readonly model?: string;
  readonly ending?: RequestEnding;
  readonly moved?: boolean;
  readonly slow?: boolean;
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly limit: number;
}

/** Reads the log of what became of requests, in SQLite or Postgres. */
export class RequestLogReader {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /** @param madeAtMs when the request was given its id: it is kept with that day, or one beside it. */
  async find(requestId: string, madeAtMs: number): Promise<RequestLogged | undefined> {
    const day = localDayOf(madeAtMs);
    const row = await this.#database
      .selectFrom('request_log')
      .select('entry')
      .where('local_day', 'in', [addLocalDays(day, -1), day, addLocalDays(day, 1)])
      .where('request_id', '=', requestId)
      .executeTakeFirst();
    return row === undefined ? undefined : decoded(row.entry);
  }

  /** Those that match, newest first, read from the end of the key. */
  async list({ tokenId, model, ending, moved, slow, sinceMs, untilMs, limit }: RequestQuery): Promise<RequestLogged[]> {
    let query = this.#database.selectFrom('request_log').select('entry');
    if (tokenId !== undefined) query = query.where('token_id', '=', tokenId);
    // Texts before and after it are line ends, so that only a whole name matches.
    if (model !== undefined) query = query.where(sql<boolean>`models like ${`%\n${escaped(model)}\n%`} escape '!'`);
    if (ending !== undefined) query = query.where('ending', '=', ending);
    if (moved !== undefined) query = query.where('moved', '=', moved ? 1 : 0);
    if (slow !== undefined) query = query.where('slow', '=', slow ? 1 : 0);
    if (sinceMs !== undefined) {
      query = query.where('local_day', '>=', localDayOf(sinceMs)).where('received_at_ms', '>=', sinceMs);
    }
    if (untilMs !== undefined) {
      query = query.where('local_day', '<=', localDayOf(untilMs)).where('received_at_ms', '<', untilMs);
    }
    const rows = await query.orderBy('local_day', 'desc').orderBy('request_id', 'desc').limit(limit).execute();
    return rows.map(({ entry }) => decoded(entry));
  }
}

/** A text with nothing in it that `like` understands. */
function escaped(text: string): string {
  return text.replaceAll(/[%_!]/g, '!$&');
}

function decoded(entry: string): RequestLogged {
  return fromBinary(RequestLoggedSchema, Buffer.from(entry, 'base64'));
}
