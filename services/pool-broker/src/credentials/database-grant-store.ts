import { type AccountGrantsTable, type Database, type GatewayDatabase, isPostgres } from '@gateway/database';
import type { Clock } from '@gateway/time';
import { type RawBuilder, sql, type Transaction } from 'kysely';
import { z } from 'zod';
import { parseJson, secretText } from './credential-text.ts';
import type { Encryption } from './encryption.ts';
import {
  type Grant,
  type GrantStore,
  isSameGrant,
  newGrant,
  type OAuthAccount,
  originOf,
  UnreadableGrantError,
} from './grant-store.ts';

/**
 * Grants in Postgres or SQLite, encrypted, shared by all brokers.
 *
 * The lock is two columns of the grant's row, by the clock of the database, and not a lock of the database itself: that would
 * need a transaction which stays open while a provider answers. In Postgres each would keep a connection for up to half a
 * minute, so that one slow token endpoint could block everything; in SQLite it would stop every other writer. It would also
 * end with its connection, just when new tokens wait for the database to come back.
 */
export class DatabaseGrantStore implements GrantStore {
  readonly #database: GatewayDatabase;
  readonly #encryption: Encryption;
  readonly #clock: Clock;

  constructor(database: GatewayDatabase, encryption: Encryption, clock: Clock) {
    this.#database = database;
    this.#encryption = encryption;
    this.#clock = clock;
  }

  async read(account: OAuthAccount): Promise<Grant> {
    const row = await this.#row(this.#database, account);
    return row === undefined ? newGrant(account.credential) : this.#toGrant(account, row);
  }

  async save(account: OAuthAccount, grant: Grant): Promise<boolean> {
    const { keyId, text } = this.#encryption.encrypt({ accountId: account.id, field: 'tokens' }, toText(grant));
    return await this.#database.transaction().execute(async (transaction) => {
      const nowMs = this.#clock.nowMs();
      await this.#addRow(transaction, account, nowMs);
      const { version, problem = null } = grant;
      const { numUpdatedRows } = await transaction
        .updateTable('account_grants')
        .set({ tokens: text, key_id: keyId, version, problem, updated_at_ms: nowMs })
        .where('account_id', '=', account.id)
        .where('origin', '=', originOf(account.credential))
        .where('version', '=', version - 1)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n) {
        await dropOutdated(transaction, account, nowMs);
        return true;
      }
      const row = await this.#row(transaction, account);
      return row !== undefined && isSameGrant(this.#toGrant(account, row), grant);
    });
  }

  async lock(account: OAuthAccount, holder: string, ttlMs: number): Promise<'locked' | 'taken_over' | 'busy'> {
    return await this.#database.transaction().execute(async (transaction) => {
      await this.#addRow(transaction, account, this.#clock.nowMs());
      const before = await this.#row(transaction, account);
      const { numUpdatedRows } = await transaction
        .updateTable('account_grants')
        .set({ locked_by: holder, locked_until_ms: this.#inMs(ttlMs) })
        .where('account_id', '=', account.id)
        .where('origin', '=', originOf(account.credential))
        .where(({ or, eb }) =>
          or([eb('locked_by', '=', holder), eb('locked_by', 'is', null), eb('locked_until_ms', '<', this.#inMs(0))]),
        )
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return 'busy';
      const holderBefore = before?.locked_by ?? holder;
      return holderBefore === holder ? 'locked' : 'taken_over';
    });
  }

  async unlock({ id, credential }: OAuthAccount, holder: string): Promise<void> {
    await this.#database
      .updateTable('account_grants')
      .set({ locked_by: null, locked_until_ms: null })
      .where('account_id', '=', id)
      .where('origin', '=', originOf(credential))
      .where('locked_by', '=', holder)
      .execute();
  }

  async problems(accounts: readonly OAuthAccount[]): Promise<ReadonlyMap<string, string>> {
    if (accounts.length === 0) return new Map();
    const grants = this.#database.selectFrom('account_grants').where('problem', 'is not', null);
    const rows = await grants.select(['account_id', 'origin', 'problem']).$narrowType<{ problem: string }>().execute();
    const origins = new Map(accounts.map(({ id, credential }) => [id, originOf(credential)]));
    const current = rows.filter(({ account_id, origin }) => origins.get(account_id) === origin);
    return new Map(current.map(({ account_id, problem }) => [account_id, problem]));
  }

  async #row(
    database: GatewayDatabase | Transaction<Database>,
    { id, credential }: OAuthAccount,
  ): Promise<AccountGrantsTable | undefined> {
    const grants = database.selectFrom('account_grants').selectAll().where('account_id', '=', id);
    return await grants.where('origin', '=', originOf(credential)).executeTakeFirst();
  }

  async #addRow(transaction: Transaction<Database>, { id, credential }: OAuthAccount, nowMs: number): Promise<void> {
    await transaction
      .insertInto('account_grants')
      .values({ account_id: id, origin: originOf(credential), version: 0, updated_at_ms: nowMs })
      .onConflict((conflict) => conflict.columns(['account_id', 'origin']).doNothing())
      .execute();
  }

  #toGrant({ id, credential }: OAuthAccount, row: AccountGrantsTable): Grant {
    const { version, tokens, key_id, problem } = row;
    if (tokens === null || key_id === null) return newGrant(credential);
    const decrypted = this.#encryption.decrypt({ accountId: id, field: 'tokens' }, { keyId: key_id, text: tokens });
    if (decrypted.kind === 'refused') throw new UnreadableGrantError(decrypted.reason);
    const { data } = tokensSchema.safeParse(parseJson(decrypted.text));
    if (data === undefined) throw new UnreadableGrantError('damaged');
    return { version, problem: problem ?? undefined, refreshToken: data.refreshToken, access: data.access };
  }

  /** A time by the database's own clock, which all brokers on it agree on. */
  #inMs(laterMs: number): RawBuilder<number> {
    return isPostgres(this.#database)
      ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint + ${laterMs}::bigint`
      : sql<number>`cast(unixepoch('subsec') * 1000 as integer) + ${laterMs}`;
  }
}

/** The grants of credentials that the account has no more. */
async function dropOutdated(
  transaction: Transaction<Database>,
  { id, credential }: OAuthAccount,
  nowMs: number,
): Promise<void> {
  await transaction
    .deleteFrom('account_grants')
    .where('account_id', '=', id)
    .where('origin', '!=', originOf(credential))
    .where('updated_at_ms', '<', nowMs - outdatedAfterMs)
    .execute();
}

// No replica has a configuration of the past for longer.
const outdatedAfterMs = 30 * 86_400_000;

const tokensSchema = z.object({
  refreshToken: secretText,
  access: z.object({ token: secretText, issuedAtMs: z.number(), expiresAtMs: z.number() }).optional(),
});

function toText({ refreshToken, access }: Grant): string {
  return JSON.stringify({
    refreshToken: refreshToken.reveal(),
    access: access && { ...access, token: access.token.reveal() },
  });
}
