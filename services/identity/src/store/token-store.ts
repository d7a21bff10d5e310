import type { Database, GatewayDatabase, StoredTokenKind, TokensTable } from '@gateway/database';
import { randomId } from '@gateway/time';
import type { GivenAccess, TokenLimits } from '@gateway/tokens';
import { type ExpressionBuilder, type Selectable, sql, type Transaction, type UpdateObject } from 'kysely';
import type { TokenHash } from '../hashing/hash-key.ts';

export const tokenColumns = [
  'token_id',
  'kind',
  'label',
  'requests_per_minute',
  'tokens_per_day',
  'created_at_ms',
  'revoked_at_ms',
  'note',
  'expires_at_ms',
  'revision',
  'previous_until_ms',
  'group_id',
  'concurrent_requests',
  'strict_tokens',
  'allowed_models',
  'account_labels',
] as const;

/** A caller's token without its text, which only its holder has. */
export type Token = Pick<Selectable<TokensTable>, (typeof tokenColumns)[number]>;

export interface NewToken {
  readonly kind: StoredTokenKind;
  readonly label: string;
  readonly limits: TokenLimits;
  readonly note: string;
  readonly expiresAtMs: number | undefined;
  readonly hash: TokenHash;
  readonly groupId: string | null;
  readonly access: GivenAccess;
  /** The person who issued it. Absent: an operator did. */
  readonly personId?: string;
  /** As in `TokensTable`. */
  readonly wantedExpiryMs?: number;
}

/** The changes to a token. Undefined: unchanged. */
export interface TokenDetails {
  readonly label?: string | undefined;
  readonly note?: string | undefined;
  /** Replaces all limits. */
  readonly limits?: TokenLimits | undefined;
  /** Null: the token leaves its group. */
  readonly groupId?: string | null | undefined;
  /** Replaces all rules. */
  readonly access?: GivenAccess | undefined;
  /** Null: the token no longer expires. */
  readonly expiresAtMs?: number | null | undefined;
}

export interface ListQuery {
  readonly includeEnded: boolean;
  /** Part of the label or note, ignoring case, or the start of the id. Empty: all tokens. */
  readonly search: string;
  /** Empty: tokens of all groups, and without one. */
  readonly groupId: string;
  /** Infinity: no limit. */
  readonly most: number;
  /** The last token of the previous page. Undefined: the first page. */
  readonly after: TokenPlace | undefined;
}

/** The position of a token in the list, which never changes. */
export type TokenPlace = Pick<Token, 'created_at_ms' | 'token_id'>;

export interface TokenChanges {
  readonly tokenIds: readonly string[];
  /** The number of the last change in the batch; pass it to `changesAfter` for the next batch. */
  readonly lastSequence: number;
}

const changeSequence = 'token_changes';

/**
 * The order in which each transaction first writes to tables. Two that lock the same rows in
 * different orders would wait for each other: Postgres ends one of them.
 */
export const lockOrder = [
  'people',
  'device_grants',
  'person_sessions',
  'sequences',
  'token_groups',
  'tokens',
] as const satisfies readonly (keyof Database)[];

/** Stores tokens, in SQLite or Postgres. */
export class TokenStore {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /**
   * The token with one of these hashes, valid or not. If the hash is that of a replaced text, the
   * token has that text's expiry.
   */
  async findByHash(hashes: readonly TokenHash[]): Promise<Token | undefined> {
    const row = await this.#tokens()
      .select(['hash_key_id', 'token_hash'])
      .where(({ or, and, eb }) =>
        or([
          ...hashes.map(({ keyId, hash }) => and([eb('token_hash', '=', hash), eb('hash_key_id', '=', keyId)])),
          ...hashes.map(({ keyId, hash }) =>
            and([eb('previous_token_hash', '=', hash), eb('previous_hash_key_id', '=', keyId)]),
          ),
        ]),
      )
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { hash_key_id, token_hash, ...token } = row;
    if (hashes.some(({ keyId, hash }) => keyId === hash_key_id && hash === token_hash)) return token;
    const untilMs = token.previous_until_ms ?? 0;
    return { ...token, expires_at_ms: Math.min(token.expires_at_ms ?? untilMs, untilMs) };
  }

  async findById(tokenId: string): Promise<Token | undefined> {
    return await this.#tokens().where('token_id', '=', tokenId).executeTakeFirst();
  }

  /** The existing tokens among these ids, newest first. */
  async findByIds(tokenIds: readonly string[]): Promise<readonly Token[]> {
    return await this.#newestFirst().where('token_id', 'in', tokenIds).execute();
  }

  /**
   * Matching tokens, newest first. New tokens come before all others, so later pages do not shift.
   */
  async list({ includeEnded, search, groupId, most, after }: ListQuery, nowMs: number): Promise<readonly Token[]> {
    return await this.#newestFirst()
      .$if(!includeEnded, (query) =>
        query
          .where('revoked_at_ms', 'is', null)
          .where(({ or, eb }) => or([eb('expires_at_ms', 'is', null), eb('expires_at_ms', '>', nowMs)])),
      )
      .$if(search !== '', (query) => query.where((eb) => matches(eb, search)))
      .$if(groupId !== '', (query) => query.where('group_id', '=', groupId))
      .$if(after !== undefined, (query) =>
        query.where(sql<boolean>`(created_at_ms, token_id) < (${after?.created_at_ms}, ${after?.token_id})`),
      )
      .$if(most < Infinity, (query) => query.limit(most))
      .execute();
  }

  async add(token: NewToken, nowMs: number): Promise<Token> {
    return await insertToken(this.#database, token, nowMs);
  }

  /** The token, revoked at `nowMs` or earlier; undefined when it does not exist. */
  async revoke(tokenId: string, nowMs: number): Promise<Token | undefined> {
    return (await this.#change(tokenId, { revoked_at_ms: nowMs })) ?? (await this.findById(tokenId));
  }

  /**
   * Returns the changed token. Undefined when no unrevoked token with this revision exists (0: any
   * revision).
   */
  async update(
    tokenId: string,
    { label, note, limits, expiresAtMs, groupId, access }: TokenDetails,
    expectedRevision: number,
  ): Promise<Token | undefined> {
    const columns = {
      ...(label === undefined ? {} : { label }),
      ...(note === undefined ? {} : { note }),
      ...(limits === undefined ? {} : toLimitColumns(limits)),
      ...(expiresAtMs === undefined ? {} : expiryColumns(expiresAtMs)),
      ...(groupId === undefined ? {} : { group_id: groupId }),
      ...(access === undefined ? {} : toAccessColumns(access)),
    };
    return await this.#change(tokenId, columns, expectedRevision);
  }

  /**
   * Replaces a token's text. The old text stays valid until `oldUntilMs`. Undefined as in `update`.
   */
  async rotate(
    tokenId: string,
    hash: TokenHash,
    oldUntilMs: number | undefined,
    expectedRevision: number,
  ): Promise<Token | undefined> {
    const columns = {
      ...{ hash_key_id: hash.keyId, token_hash: hash.hash },
      // Refers to the columns' values before this statement.
      previous_hash_key_id: oldUntilMs === undefined ? null : sql<string>`hash_key_id`,
      previous_token_hash: oldUntilMs === undefined ? null : sql<string>`token_hash`,
      previous_until_ms: oldUntilMs ?? null,
    };
    return await this.#change(tokenId, columns, expectedRevision);
  }

  /** The number of the latest change. */
  async lastSequence(): Promise<number> {
    const row = await this.#database
      .selectFrom('sequences')
      .select('last_value')
      .where('name', '=', changeSequence)
      .executeTakeFirst();
    return row?.last_value ?? 0;
  }

  /** Tokens that were changed or revoked after the change with this number. */
  async changesAfter(sequence: number): Promise<TokenChanges> {
    const rows = await this.#database
      .selectFrom('tokens')
      .select(['token_id', 'change_sequence'])
      .where('change_sequence', '>', sequence)
      .orderBy('change_sequence')
      .execute();
    return {
      tokenIds: rows.map(({ token_id }) => token_id),
      lastSequence: rows.at(-1)?.change_sequence ?? sequence,
    };
  }

  #tokens() {
    return this.#database.selectFrom('tokens').select(tokenColumns);
  }

  #newestFirst() {
    return this.#tokens().orderBy('created_at_ms', 'desc').orderBy('token_id', 'desc');
  }

  async #change(
    tokenId: string,
    columns: UpdateObject<Database, 'tokens'>,
    expectedRevision = 0,
  ): Promise<Token | undefined> {
    return await this.#database.transaction().execute(async (transaction) => {
      const change_sequence = await nextSequence(transaction);
      return await transaction
        .updateTable('tokens')
        .set({ ...columns, change_sequence, revision: sql`revision + 1` })
        .where('token_id', '=', tokenId)
        .where('revoked_at_ms', 'is', null)
        .$if(expectedRevision !== 0, (query) => query.where('revision', '=', expectedRevision))
        .returning(tokenColumns)
        .executeTakeFirst();
    });
  }
}

export async function insertToken(
  database: GatewayDatabase | Transaction<Database>,
  { kind, label, limits, note, expiresAtMs, hash, groupId, access, personId, wantedExpiryMs }: NewToken,
  nowMs: number,
): Promise<Token> {
  const token: Token = {
    ...{ token_id: randomId(), kind, label, note, revision: 1, group_id: groupId },
    ...toLimitColumns(limits),
    ...toAccessColumns(access),
    created_at_ms: nowMs,
    revoked_at_ms: null,
    expires_at_ms: expiresAtMs ?? null,
    previous_until_ms: null,
  };
  const stored = { hash_key_id: hash.keyId, token_hash: hash.hash, change_sequence: 0 };
  await database
    .insertInto('tokens')
    .values({ ...token, ...stored, person_id: personId ?? null, wanted_expiry_ms: wantedExpiryMs ?? null })
    .execute();
  return token;
}

/** The last moment that a timestamp can name: a token of a person that expires then never does. */
export const neverMs = Date.parse('9999-12-31T23:59:59.000Z');

/** A token of a person keeps what an operator wants, whatever its person's state is. */
function expiryColumns(expiresAtMs: number | null) {
  const wanted = sql<number | null>`
    case when wanted_expiry_ms is null then null else cast(${expiresAtMs ?? neverMs} as bigint) end`;
  return { expires_at_ms: expiresAtMs, wanted_expiry_ms: wanted };
}

/**
 * The database converts both sides to lower case, so that a text always matches itself, whichever
 * letters the database knows.
 */
function matches({ or }: ExpressionBuilder<Database, 'tokens'>, search: string) {
  const literal = search.replace(/[\\%_]/g, '\\$&');
  const contains = (column: 'label' | 'note') =>
    sql<boolean>`lower(${sql.ref(column)}) like lower(${`%${literal}%`}) escape '\\'`;
  return or([contains('label'), contains('note'), sql<boolean>`token_id like ${`${literal}%`} escape '\\'`]);
}

/**
 * Locks the sequence's row until the transaction ends, so that changes become visible in the order
 * of their numbers.
 */
export async function nextSequence(transaction: Transaction<Database>): Promise<number> {
  const { last_value } = await transaction
    .insertInto('sequences')
    .values({ name: changeSequence, last_value: 1 })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet(({ eb }) => ({ last_value: eb('sequences.last_value', '+', 1) })),
    )
    .returning('last_value')
    .executeTakeFirstOrThrow();
  return last_value;
}

export function toLimitColumns({ requestsPerMinute, tokensPerDay, concurrentRequests, strictTokens }: TokenLimits) {
  return {
    requests_per_minute: requestsPerMinute ?? null,
    tokens_per_day: tokensPerDay ?? null,
    concurrent_requests: concurrentRequests ?? null,
    strict_tokens: strictTokens ? (1 as const) : null,
  };
}

/** Null stands for everything. */
export function toAccessColumns({ models, accountLabels }: GivenAccess) {
  const listOf = (texts: readonly string[]) => (texts.length === 0 ? null : JSON.stringify(texts));
  return { allowed_models: listOf(models), account_labels: listOf(accountLabels) };
}
