import { randomUUID } from 'node:crypto';
import type { AccountsTable, Database, GatewayDatabase, StoredAccountState } from '@gateway/database';
import type { Clock } from '@gateway/time';
import type { Transaction } from 'kysely';
import { z } from 'zod';
import type { StoredAccount } from './stored-account.ts';

/** The accounts in the database. Every change is in the audit log, in the same transaction. */
export class AccountTable {
  readonly #database: GatewayDatabase;
  readonly #clock: Clock;

  constructor(database: GatewayDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** By id. */
  async list(): Promise<readonly StoredAccount[]> {
    const rows = await this.#database.selectFrom('accounts').select(accountColumns).orderBy('account_id').execute();
    return rows.map(toStoredAccount);
  }

  async find(accountId: string): Promise<StoredAccount | undefined> {
    const row = await this.#database
      .selectFrom('accounts')
      .select(accountColumns)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return row && toStoredAccount(row);
  }

  /** False when there is one of that id already. */
  async add(account: StoredAccount): Promise<boolean> {
    return await this.#database.transaction().execute(async (transaction) => {
      const { numInsertedOrUpdatedRows } = await transaction
        .insertInto('accounts')
        .values(toRow(account, this.#clock.nowMs()))
        .onConflict((conflict) => conflict.column('account_id').doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows === 0n) return false;
      // Tokens of an earlier account of that name are not this one's.
      await forgetGrants(transaction, account.id);
      const { credentialKind, maxConcurrency, models } = account;
      await this.#audit(transaction, 'account.added', account.id, { credentialKind, maxConcurrency, models });
      return true;
    });
  }

  /** False when there is none of that id. */
  async remove(accountId: string): Promise<boolean> {
    return await this.#database.transaction().execute(async (transaction) => {
      const { numDeletedRows } = await transaction
        .deleteFrom('accounts')
        .where('account_id', '=', accountId)
        .executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) return false;
      await forgetGrants(transaction, accountId);
      await this.#audit(transaction, 'account.removed', accountId, {});
      return true;
    });
  }

  /** Activating an account also gives its refresh token another try. False when there is none of that id. */
  async setState(accountId: string, state: StoredAccountState): Promise<boolean> {
    return await this.#database.transaction().execute(async (transaction) => {
      const nowMs = this.#clock.nowMs();
      const { numUpdatedRows } = await transaction
        .updateTable('accounts')
        .set({ state, updated_at_ms: nowMs })
        .where('account_id', '=', accountId)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
      if (state === 'active') await forgetProblem(transaction, accountId, nowMs);
      await this.#audit(transaction, 'account.state_set', accountId, { state });
      return true;
    });
  }

  async #audit(
    transaction: Transaction<Database>,
    action: 'account.added' | 'account.removed' | 'account.state_set',
    subject: string,
    details: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const values = { audit_id: randomUUID(), at_ms: this.#clock.nowMs(), action, subject };
    await transaction
      .insertInto('audit_log')
      .values({ ...values, details: JSON.stringify(details) })
      .execute();
  }
}

const accountColumns = [
  'account_id',
  'pool',
  'name',
  'models',
  'max_concurrency',
  'credential_kind',
  'credential',
  'key_id',
  'state',
] as const;

type AccountRow = Pick<AccountsTable, (typeof accountColumns)[number]>;

function toStoredAccount(row: AccountRow): StoredAccount {
  return {
    id: row.account_id,
    pool: row.pool,
    name: row.name,
    models: toModels(row.models),
    maxConcurrency: row.max_concurrency ?? undefined,
    credentialKind: row.credential_kind,
    credential: { keyId: row.key_id, text: row.credential },
    state: row.state,
  };
}

const modelsSchema = z.array(z.string()).min(1);

/** What is no list of models allows none: a row that somebody changed must not allow more than before. */
function toModels(text: string | null): readonly string[] | undefined {
  if (text === null) return undefined;
  try {
    return modelsSchema.parse(JSON.parse(text));
  } catch {
    return [];
  }
}

function toRow(account: StoredAccount, nowMs: number): AccountsTable {
  return {
    account_id: account.id,
    pool: account.pool,
    name: account.name,
    models: account.models === undefined ? null : JSON.stringify(account.models),
    max_concurrency: account.maxConcurrency ?? null,
    credential_kind: account.credentialKind,
    credential: account.credential.text,
    key_id: account.credential.keyId,
    state: account.state,
    created_at_ms: nowMs,
    updated_at_ms: nowMs,
  };
}

async function forgetGrants(transaction: Transaction<Database>, accountId: string): Promise<void> {
  await transaction.deleteFrom('account_grants').where('account_id', '=', accountId).execute();
}

async function forgetProblem(transaction: Transaction<Database>, accountId: string, nowMs: number): Promise<void> {
  await transaction
    .updateTable('account_grants')
    .set(({ eb }) => ({ version: eb('version', '+', 1), problem: null, updated_at_ms: nowMs }))
    .where('account_id', '=', accountId)
    .where('problem', 'is not', null)
    .execute();
}
