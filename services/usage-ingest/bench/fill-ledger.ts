import { eventDaysOf, type GatewayDatabase } from '@gateway/database';
import type { LocalDay } from '@gateway/time';
import { startOfLocalDayMs } from '@gateway/time';
import { sql } from 'kysely';

export interface LedgerShape {
  readonly days: readonly LocalDay[];
  readonly requestsPerDay: number;
  readonly tokens: number;
  readonly models: number;
}

/** Fills the ledger as ingest would have, by the database itself: requests spread over their day, tokens and models. */
export async function fillLedger(
  database: GatewayDatabase,
  shape: LedgerShape,
  onDay: (day: LocalDay) => void,
): Promise<void> {
  await eventDaysOf(database).open(shape.days);
  for (const day of shape.days) {
    await fillDay(database, day, shape);
    await addDailySums(database, day);
    onDay(day);
  }
  await sql`vacuum analyze usage_events, usage_daily`.execute(database);
}

/** Request ids are UUIDs of version 7: they begin with the moment of the request. */
async function fillDay(database: GatewayDatabase, day: LocalDay, shape: LedgerShape): Promise<void> {
  const { requestsPerDay, tokens, models } = shape;
  const startMs = startOfLocalDayMs(day);
  const stepMs = Math.floor(86_400_000 / requestsPerDay);
  await sql`
    insert into usage_events
    select substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-7' || substr(hash, 1, 3) || '-a' || substr(hash, 4, 3)
             || '-' || substr(hash, 7, 12),
           'token-' || md5((i::bigint * 7919 % ${sql.lit(tokens)})::text)::uuid, at_ms, ${day}, '/v1/chat/completions',
           case when i % 2 = 0 then 'provider_a' else 'provider_b' end, 'model-with-a-name-' || (i % ${sql.lit(models)}),
           1000 + i % 9000, i % 1000, 100 + i % 900, i % 100, 0, 'completed'
    from (select i, at_ms, lpad(to_hex(at_ms), 12, '0') as hex, md5(${day} || i) as hash
          from (select i, ${sql.lit(startMs)}::bigint + i::bigint * ${sql.lit(stepMs)} as at_ms
                from generate_series(1, ${sql.lit(requestsPerDay)}) as i) as moments) as ids`.execute(database);
}

async function addDailySums(database: GatewayDatabase, day: LocalDay): Promise<void> {
  await sql`
    insert into usage_daily (token_id, local_day, provider, model, requests, input_tokens, cached_tokens, output_tokens)
    select token_id, local_day, provider, model, count(*), sum(input_tokens), sum(cached_tokens), sum(output_tokens)
    from usage_events where local_day = ${day} group by 1, 2, 3, 4`.execute(database);
}
