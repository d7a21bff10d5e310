import type { Kysely } from 'kysely';

export async function up(database: Kysely<unknown>): Promise<void> {
  await createUsageEvents(database);
  await createUsageDaily(database);
  await createDeadLetters(database);
}

async function createUsageEvents(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('usage_events')
    .addColumn('request_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('token_id', 'text', (column) => column.notNull())
    .addColumn('admitted_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('local_day', 'text', (column) => column.notNull())
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cached_tokens', 'bigint', (column) => column.notNull())
    .addColumn('output_tokens', 'bigint', (column) => column.notNull())
    .addColumn('reasoning_tokens', 'bigint', (column) => column.notNull())
    .addColumn('estimated', 'bigint', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .execute();
  await database.schema
    .createIndex('usage_events_by_token')
    .on('usage_events')
    .columns(['token_id', 'local_day'])
    .execute();
}

async function createUsageDaily(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('usage_daily')
    .addColumn('token_id', 'text', (column) => column.notNull())
    .addColumn('local_day', 'text', (column) => column.notNull())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .addColumn('input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cached_tokens', 'bigint', (column) => column.notNull())
    .addColumn('output_tokens', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_daily_key', ['token_id', 'local_day', 'provider', 'model'])
    .execute();
}

async function createDeadLetters(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('dead_letters')
    .addColumn('dead_letter_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('received_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('payload', 'text', (column) => column.notNull())
    .execute();
}
