import type { Kysely } from 'kysely';

/** Provider accounts that operators manage, and the tokens of accounts that have to be refreshed. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await createAccounts(database);
  await createAccountGrants(database);
}

async function createAccounts(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('accounts')
    .addColumn('account_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('pool', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('models', 'text')
    .addColumn('max_concurrency', 'bigint')
    .addColumn('credential_kind', 'text', (column) => column.notNull())
    .addColumn('credential', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
    .execute();
}

async function createAccountGrants(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('account_grants')
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('origin', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('tokens', 'text')
    .addColumn('key_id', 'text')
    .addColumn('problem', 'text')
    .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('fence', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('locked_by', 'text')
    .addColumn('locked_until_ms', 'bigint')
    .addPrimaryKeyConstraint('account_grants_key', ['account_id', 'origin'])
    .execute();
}
