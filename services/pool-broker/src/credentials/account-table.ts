import { randomUUID } from 'node:crypto';
import type { AccountsTable, Database, GatewayDatabase, StoredAccountState } from '@gateway/database';
import type { Clock } from '@gateway/time';
import type { Transaction } from 'kysely';
import { z } from 'zod';
import type { Envelope } from './encryption.ts';

/** An account that operators keep in the database, its credential encrypted. */
export interface StoredAccount {
  /** "<pool>/<name>" */
  readonly id: string;
  readonly pool: string;
  readonly name: string;
  /** Model ids ("*" stands for any text). Undefined: all of its pool. */
  readonly models: readonly string[] | undefined;
  /** Undefined: no cap. */
  readonly maxConcurrency: number | undefined;
  readonly credentialKind: AccountsTable['credential_kind'];
  readonly credential: Envelope;
  readonly state: StoredAccountState;
}

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
    const rows = await this.#database.selectFrom('accounts').selectAll().orderBy('account_id').execute();
    return rows.map(toStoredAccount);
  }

  async find(accountId: string): Promise<StoredAccount | undefined> {
    const accounts = this.#database.selectFrom('accounts').selectAll();
    const row = await accounts.where('account_id', '=', accountId).executeTakeFirst();
    return row && toStoredAccount(row);
  }

  /** False when there is one of that id already. */
  add(account: StoredAccount): Promise<boolean> {
    const { id, credentialKind, maxConcurrency, models } = account;
    const details = { credentialKind, maxConcurrency, models };
    return this.#change({ action: 'account.added', subject: id, details }, async (transaction, nowMs) => {
      const { numInsertedOrUpdatedRows } = await transaction
        .insertInto('accounts')
        .values(toRow(account, nowMs))
        .onConflict((conflict) => conflict.column('account_id').doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows === 0n) return false;
      // Tokens of an earlier account of that name are not this one's.
      await transaction.deleteFrom('account_grants').where('account_id', '=', id).execute();
      return true;
    });
  }

  /** False when there is none of that id. */
  remove(accountId: string): Promise<boolean> {
    return this.#change({ action: 'account.removed', subject: accountId, details: {} }, async (transaction) => {
      const accounts = transaction.deleteFrom('accounts').where('account_id', '=', accountId);
      const { numDeletedRows } = await accounts.executeTakeFirstOrThrow();
      // Tokens under that name may be those of an account of gateway.yaml.
      if (numDeletedRows === 0n) return false;
      await transaction.deleteFrom('account_grants').where('account_id', '=', accountId).execute();
      return true;
    });
  }

  /** Activating an account also gives its refresh token another try. False when there is none of that id. */
  setState(accountId: string, state: StoredAccountState): Promise<boolean> {
    const entry = { action: 'account.state_set', subject: accountId, details: { state } } as const;
    return this.#change(entry, async (transaction, nowMs) => {
      const { numUpdatedRows } = await transaction
        .updateTable('accounts')
        .set({ state, updated_at_ms: nowMs })
        .where('account_id', '=', accountId)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n && state === 'active') {
        await transaction
          .updateTable('account_grants')
          .set(({ eb }) => ({ version: eb('version', '+', 1), problem: null, updated_at_ms: nowMs }))
          .where('account_id', '=', accountId)
          .where('problem', 'is not', null)
          .execute();
      }
      return numUpdatedRows > 0n;
    });
  }

  /** Makes a change and its entry in the audit log, or, when the change gives false, nothing. */
  async #change(
    { action, subject, details }: AuditEntry,
    change: (transaction: Transaction<Database>, nowMs: number) => Promise<boolean>,
  ): Promise<boolean> {
    const nowMs = this.#clock.nowMs();
    return await this.#database.transaction().execute(async (transaction) => {
      if (!(await change(transaction, nowMs))) return false;
      const entry = { audit_id: randomUUID(), at_ms: nowMs, action, subject, details: JSON.stringify(details) };
      await transaction.insertInto('audit_log').values(entry).execute();
      return true;
    });
  }
}

interface AuditEntry {
  readonly action: 'account.added' | 'account.removed' | 'account.state_set';
  readonly subject: string;
  /** Never a secret. */
  readonly details: Readonly<Record<string, unknown>>;
}

function toStoredAccount(row: AccountsTable): StoredAccount {
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

/** A text that is no list of models allows none: a row that was tampered with must not allow more than before. */
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
