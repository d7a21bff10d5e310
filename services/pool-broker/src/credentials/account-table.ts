import { randomUUID } from 'node:crypto';
import type { AccountConfig } from '@gateway/config';
import type { AccountsTable, Database, GatewayDatabase, StoredAccountState } from '@gateway/database';
import { parseJson } from '@gateway/json';
import { systemClock } from '@gateway/time';
import type { Transaction } from 'kysely';
import { z } from 'zod';
import { accountIdOf } from '../accounts/account.ts';
import { DecryptionError, type Encryption, secretText } from './encryption.ts';

/** The accounts that operators keep in the database. Every change is in the audit log, in the same transaction. */
export class AccountTable {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  async list(): Promise<readonly AccountsTable[]> {
    return await this.#database.selectFrom('accounts').selectAll().orderBy('account_id').execute();
  }

  /** False when there is one of that id already. */
  add(account: AccountConfig, encryption: Encryption): Promise<boolean> {
    const { pool, name, models, maxConcurrency, credential, state } = account;
    const id = accountIdOf(account);
    const details = { credentialKind: credential.kind, maxConcurrency, models };
    return this.#change('account.added', id, details, async (transaction, nowMs) => {
      const { keyId, text } = encryption.encrypt({ accountId: id, field: 'credential' }, credential);
      const { numInsertedOrUpdatedRows } = await transaction
        .insertInto('accounts')
        .values({
          ...{ account_id: id, pool, name, state, credential_kind: credential.kind, credential: text, key_id: keyId },
          models: models === undefined ? null : JSON.stringify(models),
          max_concurrency: maxConcurrency ?? null,
          created_at_ms: nowMs,
          updated_at_ms: nowMs,
        })
        .onConflict((conflict) => conflict.column('account_id').doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows === 0n) return false;
      // Tokens of an earlier account of that name are not this one's.
      await transaction.deleteFrom('account_grants').where('account_id', '=', id).execute();
      return true;
    });
  }

  /** False when there is none of that id. */
  remove(id: string): Promise<boolean> {
    return this.#change('account.removed', id, {}, async (transaction) => {
      const accounts = transaction.deleteFrom('accounts').where('account_id', '=', id);
      const { numDeletedRows } = await accounts.executeTakeFirstOrThrow();
      // Tokens under that name may be those of an account of gateway.yaml.
      if (numDeletedRows === 0n) return false;
      await transaction.deleteFrom('account_grants').where('account_id', '=', id).execute();
      return true;
    });
  }

  /** Activating an account also gives its refresh token another try. False when there is none of that id. */
  setState(id: string, state: StoredAccountState): Promise<boolean> {
    return this.#change('account.state_set', id, { state }, async (transaction, nowMs) => {
      const { numUpdatedRows } = await transaction
        .updateTable('accounts')
        .set({ state, updated_at_ms: nowMs })
        .where('account_id', '=', id)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n && state === 'active') {
        await transaction
          .updateTable('account_grants')
          .set(({ eb }) => ({ version: eb('version', '+', 1), problem: null, updated_at_ms: nowMs }))
          .where('account_id', '=', id)
          .where('problem', 'is not', null)
          .execute();
      }
      return numUpdatedRows > 0n;
    });
  }

  /** Makes a change and its entry in the audit log, or, when the change gives false, nothing. `details` holds no secret. */
  async #change(
    action: 'account.added' | 'account.removed' | 'account.state_set',
    subject: string,
    details: object,
    change: (transaction: Transaction<Database>, nowMs: number) => Promise<boolean>,
  ): Promise<boolean> {
    const nowMs = systemClock.nowMs();
    return await this.#database.transaction().execute(async (transaction) => {
      if (!(await change(transaction, nowMs))) return false;
      const entry = { audit_id: randomUUID(), at_ms: nowMs, action, subject, details: JSON.stringify(details) };
      await transaction.insertInto('audit_log').values(entry).execute();
      return true;
    });
  }
}

/** The account in a row, or why it can't be used. */
export function toAccountConfig(
  row: AccountsTable,
  encryption: Encryption | undefined,
): AccountConfig | 'unknown_key' | 'damaged' {
  if (encryption === undefined) return 'unknown_key';
  const { account_id: accountId, pool, name, key_id: keyId, state } = row;
  // Encrypted for the id: pool and name are only believed as far as they are it.
  if (accountId !== accountIdOf(row)) return 'damaged';
  try {
    const envelope = { keyId, text: row.credential };
    const credential = encryption.decrypt({ accountId, field: 'credential' }, envelope, credentialSchema);
    // A text that is no list of models allows none: a row that was tampered with must not allow more than before.
    const models = row.models === null ? undefined : (modelsSchema.safeParse(parseJson(row.models)).data ?? []);
    return { pool, name, credential, state, models, maxConcurrency: row.max_concurrency ?? undefined };
  } catch (thrown) {
    if (thrown instanceof DecryptionError) return thrown.reason;
    throw thrown;
  }
}

const modelsSchema = z.array(z.string()).min(1);

const credentialSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['bearer', 'api_key']), secret: secretText }),
  z.object({
    kind: z.literal('oauth'),
    tokenUrl: z.string(),
    clientId: z.string(),
    clientSecret: secretText.optional().transform((secret) => secret),
    refreshToken: secretText,
    scopes: z.array(z.string()),
  }),
]);
