import { type GatewayDatabase, isPostgres } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { GetDayTotalRequest } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { sql } from 'kysely';
import { requireLocalDay } from './messages.ts';

/** More than a limiter has of one token and day between the end of a request and its place in the ledger. */
const maxRequestIds = 10_000;

/**
 * Tokens of one token on one local day, and which of these requests are among them, as one statement saw it: what the limiter's
 * counter must stand at.
 */
export async function getDayTotal(database: GatewayDatabase, { tokenId, localDay, requestIds }: GetDayTotalRequest) {
  if (tokenId === '') throw new GatewayError('invalid_request', 'token_id is empty.');
  requireLocalDay('local_day', localDay);
  if (requestIds.length > maxRequestIds) {
    throw new GatewayError('invalid_request', `request_ids takes ${maxRequestIds} ids at most.`);
  }
  const asked = [...new Set(requestIds)];
  // One row without a place for the day, and one for each request that is not in the ledger: almost all are there.
  const { rows } = await sql<{ readonly place: number | null; readonly total: number }>`
    select cast(null as bigint) as place, cast(coalesce(sum(input_tokens + output_tokens), 0) as bigint) as total
    from usage_daily where token_id = ${tokenId} and local_day = ${localDay}
    union all
    select asked.key, 0 from ${rowsOf(database, asked)} as asked
    where not exists (
      select 1 from usage_events where local_day = ${localDay} and request_id = asked.value and token_id = ${tokenId}
    )`.execute(database);
  const missing = new Set(rows.map(({ place }) => place));
  return {
    totalTokens: BigInt(rows.find(({ place }) => place === null)?.total ?? 0),
    includedRequestIds: asked.filter((_, place) => !missing.has(place)),
  };
}

/** Texts by their place from 0. They are one parameter: limiters ask for thousands at a time. */
function rowsOf(database: GatewayDatabase, texts: readonly string[]) {
  if (!isPostgres(database)) return sql`json_each(${JSON.stringify(texts)})`;
  return sql`(select place - 1 as key, text as value from unnest(${texts}::text[]) with ordinality as given(text, place))`;
}
