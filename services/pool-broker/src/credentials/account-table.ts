import type { AccountConfig, Credential } from '@gateway/config';
import { DecryptionError, secretText } from '@gateway/config/encryption';
import type { AccountsTable, AccountUsesTable, Database, GatewayDatabase, StoredAccountState } from '@gateway/database';
import { parseJson } from '@gateway/json';
import { epochMs } from '@gateway/time';
import type { Selectable, Transaction } from 'kysely';
import { z } from 'zod';
import { accountIdOf } from '../accounts/account.ts';
import type { Encryption } from './encryption.ts';

/** A row of the table as it is read. */
export type StoredAccountRow = Selectable<AccountsTable>;

/**
 * The accounts that operators keep in the database, and the state that they want for accounts of
 * `gateway.yaml`. All brokers share it.
 */
export class AccountTable {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  async list(): Promise<readonly StoredAccountRow[]> {
    return await this.#database.selectFrom('accounts').selectAll().orderBy('account_id').execute();
  }

  /** False when the id already exists. */
  async add(account: AccountConfig, encryption: Encryption): Promise<boolean> {
    const { pool, name, models, labels, maxConcurrency, credential, state } = account;
    const id = accountIdOf(account);
    const nowMs = epochMs();
    return await this.#database.transaction().execute(async (transaction) => {
      const { numInsertedOrUpdatedRows } = await transaction
        .insertInto('accounts')
        .values({
          ...{ account_id: id, pool, name, state, ...encryptedColumns(id, credential, encryption) },
          models: models === undefined ? null : JSON.stringify(models),
          labels: labelsText(labels),
          max_concurrency: maxConcurrency ?? null,
          created_at_ms: nowMs,
          updated_at_ms: nowMs,
        })
        .onConflict((conflict) => conflict.column('account_id').doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows === 0n) return false;
      // Tokens of an earlier account with that name do not belong to this one.
      await transaction.deleteFrom('account_grants').where('account_id', '=', id).execute();
      return true;
    });
  }

  /**
   * Replaces the credential and forgets why the old one was out of service. False when the id does
   * not exist.
   */
  async replaceCredential(id: string, credential: Credential, encryption: Encryption): Promise<boolean> {
    const nowMs = epochMs();
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

  /**
   * False when the id does not exist. `keepTokens`: the tokens under that name belong to an account
   * of gateway.yaml.
   */
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
   * Activating an account also lets its refresh token be tried again. With `expected`, nothing
   * changes if the current state is another one: then the states before and after are the same.
   * Undefined when the id does not exist.
   */
  async setState(id: string, state: StoredAccountState, expected?: StoredAccountState) {
    const nowMs = epochMs();
    return await this.#database.transaction().execute(async (transaction) => {
      const rows = transaction.updateTable('accounts').where('account_id', '=', id);
      // Reads the row and locks it until the transaction ends.
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

  /** Replaces the labels. False when the id does not exist. */
  async setLabels(id: string, labels: readonly string[]): Promise<boolean> {
    const { numUpdatedRows } = await this.#database
      .updateTable('accounts')
      .set({ labels: labelsText(labels), updated_at_ms: epochMs() })
      .where('account_id', '=', id)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  async listUses(): Promise<readonly AccountUsesTable[]> {
    return await this.#database.selectFrom('account_uses').selectAll().execute();
  }

  /**
   * Sets the state that operators want for an account of `gateway.yaml`. It applies as long as the
   * file's state is `fileState`: a file whose state changes has precedence. With `expected`,
   * nothing changes if the current use is another one: then the uses before and after are the same.
   */
  async setUse(id: string, use: StoredAccountState, fileState: StoredAccountState, expected?: StoredAccountState) {
    const row = { account_id: id, file_state: fileState, updated_at_ms: epochMs() };
    return await this.#database.transaction().execute(async (transaction) => {
      // Reads the row, or creates one without effect, and locks it until the transaction ends.
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

function labelsText(labels: readonly string[] = []): string | null {
  return labels.length === 0 ? null : JSON.stringify(labels);
}

/** The effective use of an account with this state in the file. */
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

/** The account in a row, or why it is unusable. */
export function toAccountConfig(
  row: StoredAccountRow,
  encryption: Encryption | undefined,
): AccountConfig | 'unknown_key' | 'damaged' {
  if (encryption === undefined) return 'unknown_key';
  const { account_id: accountId, pool, name, key_id: keyId, state } = row;
  // The envelope is bound to the id: pool and name count only if they match it.
  if (accountId !== accountIdOf(row)) return 'damaged';
  try {
    const envelope = { keyId, text: row.credential };
    const credential = encryption.decrypt({ accountId, field: 'credential' }, envelope, credentialSchema);
    // A value that is not a list of models allows none: a manipulated row must not allow more than
    // before.
    const models = row.models === null ? undefined : (modelsSchema.safeParse(parseJson(row.models)).data ?? []);
    const maxConcurrency = row.max_concurrency ?? undefined;
    // A value that is not a list of labels gives none: then no restriction admits the account.
    const labels = row.labels === null ? [] : (labelsSchema.safeParse(parseJson(row.labels)).data ?? []);
    return { pool, name, credential, state, models, labels, maxConcurrency, isStored: true };
  } catch (thrown) {
    if (thrown instanceof DecryptionError) return thrown.reason;
    throw thrown;
  }
}

const modelsSchema = z.array(z.string()).min(1);
const labelsSchema = z.array(z.string());

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
