import { randomUUID } from 'node:crypto';
import type { Database, GatewayDatabase, TokensTable } from '@gateway/database';
import type { Transaction } from 'kysely';
import type { TokenHash } from '../hashing/hash-key.ts';
import type { Token, TokenLimits } from '../tokens/token-rules.ts';

export interface TokenChanges {
  readonly tokenIds: readonly string[];
  /** Number of the last change among them; ask for what came after it next. */
  readonly lastSequence: number;
}

const changeSequence = 'token_changes';

/** The tokens, in SQLite or Postgres. Every change is in the audit log, in the same transaction. */
export class TokenStore {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /** The token with one of the hashes, revoked or not. */
  async findByHash(hashes: readonly TokenHash[]): Promise<Token | undefined> {
    const row = await this.#database
      .selectFrom('tokens')
      .select(tokenColumns)
      .where(({ or, and, eb }) =>
        or(hashes.map(({ keyId, hash }) => and([eb('token_hash', '=', hash), eb('hash_key_id', '=', keyId)]))),
      )
      .executeTakeFirst();
    return row && toToken(row);
  }

  async findById(tokenId: string): Promise<Token | undefined> {
    return await findById(this.#database, tokenId);
  }

  /** All tokens, newest first. */
  async list({ includeRevoked }: { readonly includeRevoked: boolean }): Promise<readonly Token[]> {
    const rows = await this.#database
      .selectFrom('tokens')
      .select(tokenColumns)
      .$if(!includeRevoked, (query) => query.where('revoked_at_ms', 'is', null))
      .orderBy('created_at_ms', 'desc')
      .orderBy('token_id', 'desc')
      .execute();
    return rows.map(toToken);
  }

  async add(token: Token, { keyId, hash }: TokenHash): Promise<void> {
    const { tokenId, kind, label, limits, createdAtMs } = token;
    await this.#database.transaction().execute(async (transaction) => {
      await transaction
        .insertInto('tokens')
        .values({
          token_id: tokenId,
          kind,
          label,
          ...toLimitColumns(limits),
          hash_key_id: keyId,
          token_hash: hash,
          created_at_ms: createdAtMs,
          revoked_at_ms: null,
          change_sequence: 0,
        })
        .execute();
      await recordAudit(transaction, {
        atMs: createdAtMs,
        action: 'token.issued',
        subject: tokenId,
        details: { kind, label, ...limits },
      });
    });
  }

  /** The token, revoked at `nowMs` or earlier; undefined when there is none of that id. */
  async revoke(tokenId: string, nowMs: number): Promise<Token | undefined> {
    return await this.#database.transaction().execute(async (transaction) => {
      const sequence = await nextSequence(transaction);
      const { numUpdatedRows } = await transaction
        .updateTable('tokens')
        .set({ revoked_at_ms: nowMs, change_sequence: sequence })
        .where('token_id', '=', tokenId)
        .where('revoked_at_ms', 'is', null)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows > 0n) {
        await recordAudit(transaction, { atMs: nowMs, action: 'token.revoked', subject: tokenId, details: {} });
      }
      return await findById(transaction, tokenId);
    });
  }

  /** The token with its new limits; undefined when no valid service token has that id. */
  async setLimits(tokenId: string, limits: TokenLimits, nowMs: number): Promise<Token | undefined> {
    return await this.#database.transaction().execute(async (transaction) => {
      const sequence = await nextSequence(transaction);
      const { numUpdatedRows } = await transaction
        .updateTable('tokens')
        .set({ ...toLimitColumns(limits), change_sequence: sequence })
        .where('token_id', '=', tokenId)
        .where('kind', '=', 'service')
        .where('revoked_at_ms', 'is', null)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return undefined;
      const details = { ...limits };
      await recordAudit(transaction, { atMs: nowMs, action: 'token.limits_set', subject: tokenId, details });
      return await findById(transaction, tokenId);
    });
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

  /** Tokens that were revoked or given other limits after a change. */
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
}

const tokenColumns = [
  'token_id',
  'kind',
  'label',
  'requests_per_minute',
  'tokens_per_day',
  'created_at_ms',
  'revoked_at_ms',
] as const;

type TokenRow = Pick<TokensTable, (typeof tokenColumns)[number]>;

async function findById(
  database: GatewayDatabase | Transaction<Database>,
  tokenId: string,
): Promise<Token | undefined> {
  const row = await database
    .selectFrom('tokens')
    .select(tokenColumns)
    .where('token_id', '=', tokenId)
    .executeTakeFirst();
  return row && toToken(row);
}

/** Holds the sequence's row until the transaction ends, so that changes become visible in the order of their numbers. */
async function nextSequence(transaction: Transaction<Database>): Promise<number> {
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

function toToken(row: TokenRow): Token {
  return {
    tokenId: row.token_id,
    kind: row.kind,
    label: row.label,
    limits: {
      requestsPerMinute: row.requests_per_minute ?? undefined,
      tokensPerDay: row.tokens_per_day ?? undefined,
    },
    createdAtMs: row.created_at_ms,
    revokedAtMs: row.revoked_at_ms ?? undefined,
  };
}

function toLimitColumns({ requestsPerMinute, tokensPerDay }: TokenLimits) {
  return { requests_per_minute: requestsPerMinute ?? null, tokens_per_day: tokensPerDay ?? null };
}

export interface AuditRecord {
  readonly atMs: number;
  readonly action: 'token.issued' | 'token.revoked' | 'token.limits_set';
  /** The token's id. */
  readonly subject: string;
  /** What was set. Never a secret. */
  readonly details: Readonly<Record<string, string | number | undefined>>;
}

/** Notes what an operator did, in the transaction that does it. */
export async function recordAudit(
  transaction: Transaction<Database>,
  { atMs, action, subject, details }: AuditRecord,
): Promise<void> {
  await transaction
    .insertInto('audit_log')
    .values({ audit_id: randomUUID(), at_ms: atMs, action, subject, details: JSON.stringify(details) })
    .execute();
}
