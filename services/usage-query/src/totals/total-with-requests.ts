import { type GatewayDatabase, isPostgres } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { addLocalDays, type LocalDay, localDayOf } from '@gateway/time';
import { type RawBuilder, sql } from 'kysely';
import { timesOfId } from '../request-log/request-id.ts';

interface TotalQuery {
  /** The rows of the daily sums: the rest of a statement after "from". */
  readonly sumsOf: RawBuilder<unknown>;
  /** Whether an event belongs to them. */
  readonly isOfThem: RawBuilder<unknown>;
  readonly requestIds: readonly string[];
}

/** More than a limiter has pending for one counter. */
const maxRequestIds = 10_000;

/** Sums, and which of these requests they include, read in one statement. */
export async function totalWithRequests(
  database: GatewayDatabase,
  { sumsOf, isOfThem, requestIds }: TotalQuery,
): Promise<{
  readonly sums: { readonly tokens: number; readonly costMicros: number };
  readonly included: string[];
}> {
  if (requestIds.length > maxRequestIds) {
    throw new GatewayError('invalid_request', `request_ids must have at most ${maxRequestIds} ids.`);
  }
  const asked = [...new Set(requestIds)];
  // One row without a place for the sums, and one for each request that the ledger lacks: almost
  // all are there.
  const { rows } = await sql<{ readonly place: number | null; readonly tokens: number; readonly cost: number }>`
    select cast(null as bigint) as place,
           cast(coalesce(sum(input_tokens + output_tokens), 0) as bigint) as tokens,
           cast(coalesce(sum(cost_micros), 0) as bigint) as cost
    from ${sumsOf}
    union all
    select asked.key, 0, 0 from ${rowsOf(database, asked)} as asked
    where not exists (
      select 1 from usage_events where request_id = asked.value and ${isOfThem}
    )`.execute(database);
  const missing = new Set(rows.map(({ place }) => place));
  const sums = rows.find(({ place }) => place === null);
  return {
    sums: { tokens: sums?.tokens ?? 0, costMicros: sums?.cost ?? 0 },
    included: asked.filter((_, place) => !missing.has(place)),
  };
}

/**
 * The days on which requests with these ids can have been admitted, because ids contain the time
 * when they were created. An id of an attempt that was given up continues that of its request.
 * Undefined if an id is in another form: then any day is possible.
 */
export function daysOfIds(requestIds: readonly string[]): readonly LocalDay[] | undefined {
  const days = new Set<LocalDay>();
  for (const id of requestIds) {
    const times = timesOfId(id.slice(0, 36));
    if (times === undefined) return undefined;
    days.add(localDayOf(times.firstMs));
  }
  return [...new Set([...days].flatMap((day) => [addLocalDays(day, -1), day, addLocalDays(day, 1)]))];
}

/**
 * Texts with their position, counted from 0. They are one parameter, because limiters ask about
 * thousands at a time.
 */
function rowsOf(database: GatewayDatabase, texts: readonly string[]) {
  if (!isPostgres(database)) return sql`json_each(${JSON.stringify(texts)})`;
  return sql`(select place - 1 as key, text as value from unnest(${texts}::text[]) with ordinality as given(text, place))`;
}
