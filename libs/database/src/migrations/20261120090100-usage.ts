import { type Kysely, sql } from 'kysely';

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`create table usage_events (${eventColumns('')}, primary key (request_id))`.execute(database);
  await sql`create index usage_events_by_token on usage_events (token_id, local_day)`.execute(database);
  await sql`
    create table usage_daily (
      token_id text not null,
      local_day text not null,
      provider text not null,
      model text not null,
      requests bigint not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      constraint usage_daily_key primary key (token_id, local_day, provider, model)
    )`.execute(database);
  await sql`
    create table dead_letters (
      dead_letter_id text primary key not null,
      received_at_ms bigint not null,
      reason text not null,
      payload text not null
    )`.execute(database);
}

/** @param ofKey the additional constraints on the columns of the key by day. */
export function eventColumns(ofKey: string) {
  return sql.raw(`
    request_id text ${ofKey} not null,
    token_id text not null,
    admitted_at_ms bigint not null,
    local_day text ${ofKey} not null,
    endpoint text not null,
    provider text not null,
    model text not null,
    input_tokens bigint not null,
    cached_tokens bigint not null,
    output_tokens bigint not null,
    reasoning_tokens bigint not null,
    estimated bigint not null,
    outcome text not null`);
}
