import type { AccountConfig, Credential } from '@gateway/config';
import type { AccountsTable, AccountUsesTable, Database, GatewayDatabase, StoredAccountState } from '@gateway/database';
import { parseJson } from '@gateway/json';
import { systemClock } from '@gateway/time';
import type { Transaction } from 'kysely';
import { z } from 'zod';
import { accountIdOf } from '../accounts/account.ts';
import { DecryptionError, type Encryption, secretText } from './encryption.ts';

/** The accounts that operators keep in the database, and what they want of those of `gateway.yaml`, for all brokers. */
export class AccountTable {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  async list(): Promise<readonly AccountsTable[]> {
    return await this.#database.selectFrom('accounts').selectAll().orderBy('account_id').execute();
  }

  /** False when there is one of that id already. */
  async add(account: AccountConfig, encryption: Encryption): Promise<boolean> {
    const { pool, name, models, maxConcurrency, credential, state } = account;
    const id = accountIdOf(account);
    const nowMs = systemClock.nowMs();
    return await this.#database.transaction().execute(async (transaction) => {
      const { numInsertedOrUpdatedRows } = await transaction
        .insertInto('accounts')
        .values({
          ...{ account_id: id, pool, name, state, ...encryptedColumns(id, credential, encryption) },
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

  /** What kept the old credential out of service is forgotten. False when there is none of that id. */
  async replaceCredential(id: string, credential: Credential, encryption: Encryption): Promise<boolean> {
    const nowMs = systemClock.nowMs();
    return await this.#database.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('accounts')
        .set({ ...encryptedColumns(id, credential, encryption), updated_at_ms: nowMs })
        .where('account_id', '=', id)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n) await forgetProblems(transaction, id, nowMs);
      return numUpdatedRows > 0n;
    });
  }

  /** False when there is none of that id. `keepTokens`: those under that name are of an account of gateway.yaml. */
  async remove(id: string, { keepTokens = false }: { readonly keepTokens?: boolean } = {}): Promise<boolean> {
    return await this.#database.transaction().execute(async (transaction) => {
      const accounts = transaction.deleteFrom('accounts').where('account_id', '=', id);
      const { numDeletedRows } = await accounts.executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) return false;
      if (!keepTokens) await transaction.deleteFrom('account_grants').where('account_id', '=', id).execute();
      return true;
    });
  }

  /**
   * Activating an account also gives its refresh token another try. With `expected`, nothing is changed when its state is another:
   * then the states before and now are the same. Undefined when there is none of that id.
   */
  async setState(id: string, state: StoredAccountState, expected?: StoredAccountState) {
    const nowMs = systemClock.nowMs();
    return await this.#database.transaction().execute(async (transaction) => {
      const rows = transaction.updateTable('accounts').where('account_id', '=', id);
      // Reads the row as it is, and holds it until the transaction ends.
      const row = await rows
        .set(({ ref }) => ({ state: ref('state') }))
        .returning('state')
        .executeTakeFirst();
      if (row === undefined) return undefined;
      if (expected !== undefined && row.state !== expected) return { before: row.state, now: row.state };
      await rows.set({ state, updated_at_ms: nowMs }).execute();
      if (state === 'active') await forgetProblems(transaction, id, nowMs);
      return { before: row.state, now: state };
    });
  }

  async listUses(): Promise<readonly AccountUsesTable[]> {
    return await this.#database.selectFrom('account_uses').selectAll().execute();
  }

  /**
   * What is wanted of an account of `gateway.yaml`. It holds as long as the file says what it says now, `fileState`: a file that
   * says something else of an account has the last word. With `expected`, only if that is what the account is to be used for by
   * now: else what it was to be used for before and is now are the same.
   */
  async setUse(id: string, use: StoredAccountState, fileState: StoredAccountState, expected?: StoredAccountState) {
    const row = { account_id: id, file_state: fileState, updated_at_ms: systemClock.nowMs() };
    return await this.#database.transaction().execute(async (transaction) => {
      // Reads the row as it is, or makes one that says nothing, and holds it until the transaction ends.
      const known = await transaction
        .insertInto('account_uses')
        .values({ ...row, use_state: fileState })
        .onConflict((conflict) =>
          conflict.column('account_id').doUpdateSet(({ ref }) => ({ use_state: ref('account_uses.use_state') })),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      const before = useBeside(fileState, known);
      if (expected !== undefined && before !== expected) return { before, now: before };
      const changed = transaction.updateTable('account_uses').set({ ...row, use_state: use });
      await changed.where('account_id', '=', id).execute();
      return { before, now: use };
    });
  }
}

/** What an account is to be used for of which the file says this. */
export function useBeside(fileState: StoredAccountState, row: AccountUsesTable | undefined): StoredAccountState {
  return row?.file_state === fileState ? row.use_state : fileState;
}

function encryptedColumns(accountId: string, credential: Credential, encryption: Encryption) {
  const { keyId, text } = encryption.encrypt({ accountId, field: 'credential' }, credential);
  return { credential_kind: credential.kind, credential: text, key_id: keyId };
}

async function forgetProblems(transaction: Transaction<Database>, id: string, nowMs: number): Promise<void> {
  await transaction
    .updateTable('account_grants')
    .set(({ eb }) => ({ version: eb('version', '+', 1), problem: null, updated_at_ms: nowMs }))
    .where('account_id', '=', id)
    .where('problem', 'is not', null)
    .execute();
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
    const maxConcurrency = row.max_concurrency ?? undefined;
    return { pool, name, credential, state, models, maxConcurrency, isStored: true };
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
