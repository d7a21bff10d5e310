import type { Kysely } from 'kysely';

export async function up(database: Kysely<unknown>): Promise<void> {
  await createTokens(database);
  await createSequences(database);
  await createAuditLog(database);
}

async function createTokens(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('tokens')
    .addColumn('token_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('label', 'text', (column) => column.notNull())
    .addColumn('requests_per_minute', 'bigint')
    .addColumn('tokens_per_day', 'bigint')
    .addColumn('hash_key_id', 'text', (column) => column.notNull())
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at_ms', 'bigint')
    .addColumn('change_sequence', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await database.schema.createIndex('tokens_by_change_sequence').on('tokens').column('change_sequence').execute();
}

async function createSequences(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('sequences')
    .addColumn('name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('last_value', 'bigint', (column) => column.notNull())
    .execute();
}

async function createAuditLog(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('audit_log')
    .addColumn('audit_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('at_ms', 'bigint', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('details', 'text', (column) => column.notNull())
    .execute();
  await database.schema.createIndex('audit_log_by_subject').on('audit_log').columns(['subject', 'at_ms']).execute();
}
