import { epochMs } from '@gateway/time';
import { type Kysely, sql } from 'kysely';

/**
 * What ends when a person leaves: the expiry of tokens of people who can't be looked up, lookups
 * whose answers were lost, and groups that were deleted while people were in them.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table token_groups add column deleted_at_ms bigint`.execute(database);
  await sql`alter table person_grants add column asked_at_ms bigint`.execute(database);
  await sql`alter table people add column tokens_until_ms bigint`.execute(database);
  await sql`alter table tokens add column wanted_expiry_ms bigint`.execute(database);
  await sql`
    update tokens set wanted_expiry_ms = expires_at_ms
    where person_id is not null and revoked_at_ms is null
      and token_id not in (select token_id from person_sessions)`.execute(database);
  // People who are not looked up have as long as the default of SIGN_IN_IDLE_DAYS to sign in again.
  const untilMs = epochMs() + 14 * 86_400_000;
  await sql`
    update people set tokens_until_ms = ${untilMs}
    where person_id not in (select person_id from person_grants)`.execute(database);
  await sql`
    update tokens set expires_at_ms = ${untilMs}
    where wanted_expiry_ms > ${untilMs}
      and person_id in (select person_id from people where tokens_until_ms is not null)`.execute(database);
}
