import { type GatewayDatabase, isPostgres } from '@gateway/database';
import type { LocalDay } from '@gateway/time';
import { CompiledQuery } from 'kysely';

/** A row for the day, without a request, and one for each request that is not in the ledger: which of those asked for. */
export interface DayTotalRow {
  readonly missing_index: number | null;
  /** Input plus output. */
  readonly total: number;
}

/**
 * The tokens of a token on one day, and which of these requests are not among them. One text, and the ids as one parameter:
 * limiters ask for thousands of requests at a time, almost all of which are there.
 */
export function dayTotalQuery(
  database: GatewayDatabase,
  tokenId: string,
  localDay: LocalDay,
  requestIds: readonly string[],
): CompiledQuery<DayTotalRow> {
  if (isPostgres(database)) return CompiledQuery.raw(postgresText, [tokenId, localDay, requestIds]);
  return CompiledQuery.raw(sqliteText, [tokenId, localDay, JSON.stringify(requestIds), localDay, tokenId]);
}

const total = 'cast(coalesce(sum(input_tokens + output_tokens), 0) as bigint)';

const sqliteText = `
  select null as missing_index, ${total} as total from usage_daily where token_id = ? and local_day = ?
  union all
  select asked.key, 0 from json_each(?) as asked
  where not exists (
    select 1 from usage_events where local_day = ? and request_id = asked.value and token_id = ?
  )`;

const postgresText = `
  select null::bigint as missing_index, ${total} as total from usage_daily where token_id = $1 and local_day = $2
  union all
  select asked.place - 1, 0 from unnest($3::text[]) with ordinality as asked(id, place)
  where not exists (
    select 1 from usage_events where local_day = $2 and request_id = asked.id and token_id = $1
  )`;
