import { type Kysely, sql } from 'kysely';

/**
 * What requests cost, which tokens were written to a provider's cache, and the group that each
 * request belongs to. An ingest of the previous release writes none of these: its rows have no
 * frozen cost and no group.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const written = ['cache_write_5m_tokens', 'cache_write_1h_tokens'];
  const costed = ['input_tokens', 'cached_tokens', ...written, 'output_tokens'].map((column) => `costed_${column}`);
  for (const column of written) {
    await sql`alter table usage_events add column ${sql.ref(column)} bigint not null default 0`.execute(database);
  }
  await sql`alter table usage_events add column cost_micros bigint`.execute(database);
  await sql`alter table usage_events add column group_id text not null default ''`.execute(database);
  for (const table of ['usage_daily', 'usage_daily_by_account']) {
    for (const column of [...written, 'cost_micros', ...costed]) {
      await sql`alter table ${sql.table(table)} add column ${sql.ref(column)} bigint not null default 0`.execute(
        database,
      );
    }
  }
  await sql`
    create table usage_daily_by_group (
      group_id text not null,
      token_id text not null,
      local_day text not null,
      provider text not null,
      model text not null,
      requests bigint not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      cache_write_5m_tokens bigint not null,
      cache_write_1h_tokens bigint not null,
      cost_micros bigint not null,
      costed_input_tokens bigint not null,
      costed_cached_tokens bigint not null,
      costed_cache_write_5m_tokens bigint not null,
      costed_cache_write_1h_tokens bigint not null,
      costed_output_tokens bigint not null,
      constraint usage_daily_by_group_key primary key (group_id, local_day, token_id, provider, model)
    )`.execute(database);
}
