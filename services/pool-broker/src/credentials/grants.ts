import { hash } from 'node:crypto';
import type { OAuthCredential } from '@gateway/config';
import { revealedJson, secretText } from '@gateway/config/encryption';
import { type GatewayDatabase, isPostgres } from '@gateway/database';
import { epochMs } from '@gateway/time';
import { sql } from 'kysely';
import { z } from 'zod';
import type { Account } from '../accounts/account.ts';
import type { Encryption } from './encryption.ts';

/** An account that obtains access tokens with a refresh token. */
export interface OAuthAccount extends Pick<Account, 'id' | 'pool'> {
  readonly credential: OAuthCredential;
}

const tokensSchema = z.object({
  refreshToken: secretText,
  access: z.object({ token: secretText, issuedAtMs: z.number(), expiresAtMs: z.number() }).optional(),
});

/** The current tokens of an account, and whether they are usable. */
export interface Grant extends Readonly<z.output<typeof tokensSchema>> {
  /** Each change adds one. 0: nothing is stored yet. */
  readonly version: number;
  /** Why the account is unusable until a person acts. */
  readonly problem?: string | undefined;
}

export type AccessToken = Readonly<NonNullable<Grant['access']>>;

/**
 * Stores one grant for each refresh token that an account's configuration ever had, because
 * replicas may have read different configurations.
 */
export interface GrantStore {
  /**
   * Returns the configured refresh token if nothing is stored.
   * @throws DecryptionError because that refresh token may have been replaced.
   */
  read(account: OAuthAccount): Promise<Grant>;
  /** Replaces the previous version. False: the stored version is another one. */
  save(account: OAuthAccount, grant: Grant): Promise<boolean>;
  /**
   * Reserves the right to refresh for `ttlMs` from now. `taken_over`: the previous holder's
   * reservation had expired.
   */
  reserve(account: OAuthAccount, holder: string, ttlMs: number): Promise<'reserved' | 'taken_over' | 'busy'>;
  release(account: OAuthAccount, holder: string): Promise<void>;
  /** The problems of all grants that have one, by `grantIdOf`. */
  problems(): Promise<ReadonlyMap<string, string>>;
}

/** Identifies the grant of an account with this credential. */
export function grantIdOf({ id, credential }: Pick<OAuthAccount, 'id' | 'credential'>): string {
  return `${id} ${originOf(credential)}`;
}

/** Identifies a credential without revealing any part of it. */
export function originOf({ refreshToken, tokenUrl, clientId }: OAuthCredential): string {
  return hash('sha256', revealedJson(['gateway grant', tokenUrl, clientId, refreshToken])).slice(0, 32);
}

export function newGrant({ refreshToken }: OAuthCredential): Grant {
  return { version: 0, refreshToken };
}

/** Grants in the memory of one process, for brokers without a database or an encryption key. */
export function memoryGrants(): GrantStore {
  const grants = new Map<string, Grant>();
  const holders = new Map<string, string>();
  const read = (account: OAuthAccount) => grants.get(grantIdOf(account)) ?? newGrant(account.credential);
  return {
    read: async (account) => read(account),

    async save(account, grant) {
      const isNext = read(account).version === grant.version - 1;
      if (isNext) grants.set(grantIdOf(account), grant);
      return isNext;
    },

    /** A holder does not outlive its reservation. */
    async reserve(account, holder) {
      const reservedBy = holders.getOrInsert(grantIdOf(account), holder);
      return reservedBy === holder ? 'reserved' : 'busy';
    },

    async release(account, holder) {
      if (holders.get(grantIdOf(account)) === holder) holders.delete(grantIdOf(account));
    },

    problems: async () =>
      new Map([...grants].flatMap(([id, { problem }]) => (problem === undefined ? [] : [[id, problem]]))),
  };
}

/**
 * Encrypted grants in the database, shared by all brokers. A reservation is stored in two columns
 * and timed by the database's clock. A lock would end with its connection, just when new tokens
 * wait for the database to come back.
 */
export function databaseGrants(database: GatewayDatabase, encryption: Encryption): GrantStore {
  /** In the database's own time. */
  const inMs = (laterMs: number) =>
    isPostgres(database)
      ? sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint + ${laterMs}::bigint`
      : sql<number>`cast(unixepoch('subsec') * 1000 as integer) + ${laterMs}`;

  return {
    async read(account) {
      const { id, credential } = account;
      const rows = database.selectFrom('account_grants').selectAll();
      const row = await rows.where((eb) => eb.and(keyOf(account))).executeTakeFirst();
      if (row === undefined || row.tokens === null || row.key_id === null) return newGrant(credential);
      const envelope = { keyId: row.key_id, text: row.tokens };
      const tokens = encryption.decrypt({ accountId: id, field: 'tokens' }, envelope, tokensSchema);
      return { ...tokens, version: row.version, problem: row.problem ?? undefined };
    },

    async save(account, { version, refreshToken, access, problem }) {
      const { keyId, text } = encryption.encrypt({ accountId: account.id, field: 'tokens' }, { refreshToken, access });
      const nowMs = epochMs();
      const grant = { version, tokens: text, key_id: keyId, problem: problem ?? null, updated_at_ms: nowMs };
      const { numInsertedOrUpdatedRows } = await database
        .insertInto('account_grants')
        .values({ ...keyOf(account), ...grant })
        .onConflict((conflict) =>
          conflict
            .columns(['account_id', 'origin'])
            .doUpdateSet(grant)
            .where('account_grants.version', '=', version - 1),
        )
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows !== 1n) return false;
      // No replica uses an old configuration for this long.
      await database
        .deleteFrom('account_grants')
        .where('account_id', '=', account.id)
        .where('origin', '!=', originOf(account.credential))
        .where('updated_at_ms', '<', nowMs - 30 * 86_400_000)
        .execute();
      return true;
    },

    async reserve(account, holder, ttlMs) {
      await database
        .insertInto('account_grants')
        .values({ ...keyOf(account), version: 0, updated_at_ms: epochMs() })
        .onConflict((conflict) => conflict.columns(['account_id', 'origin']).doNothing())
        .execute();
      const grants = database
        .updateTable('account_grants')
        .set({ locked_by: holder, locked_until_ms: inMs(ttlMs) })
        .where((eb) => eb.and(keyOf(account)));
      const free = grants.where(({ or, eb }) => or([eb('locked_by', '=', holder), eb('locked_by', 'is', null)]));
      if ((await free.executeTakeFirstOrThrow()).numUpdatedRows > 0n) return 'reserved';
      const ended = grants.where('locked_until_ms', '<', inMs(0));
      return (await ended.executeTakeFirstOrThrow()).numUpdatedRows > 0n ? 'taken_over' : 'busy';
    },

    async release(account, holder) {
      const grants = database.updateTable('account_grants').set({ locked_by: null, locked_until_ms: null });
      await grants.where((eb) => eb.and({ ...keyOf(account), locked_by: holder })).execute();
    },

    async problems() {
      const rows = database.selectFrom('account_grants').select(['account_id', 'origin', 'problem']);
      const found = await rows.where('problem', 'is not', null).$narrowType<{ problem: string }>().execute();
      return new Map(found.map(({ account_id, origin, problem }) => [`${account_id} ${origin}`, problem]));
    },
  };
}

function keyOf({ id, credential }: OAuthAccount) {
  return { account_id: id, origin: originOf(credential) };
}
