import { randomUUID } from 'node:crypto';
import type { Database, GatewayDatabase, TokensTable } from '@gateway/database';
import type { Transaction, Updateable } from 'kysely';
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
    const row = await this.#database
      .selectFrom('tokens')
      .select(tokenColumns)
      .where('token_id', '=', tokenId)
      .executeTakeFirst();
    return row && toToken(row);
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
      const details = { kind, label, ...limits };
      await recordAudit(transaction, tokenId, { atMs: createdAtMs, action: 'token.issued', details });
    });
  }

  /** The token, revoked at `nowMs` or earlier; undefined when there is none of that id. */
  async revoke(tokenId: string, nowMs: number): Promise<Token | undefined> {
    await this.#change(tokenId, { revoked_at_ms: nowMs }, { atMs: nowMs, action: 'token.revoked', details: {} });
    return await this.findById(tokenId);
  }

  /** The token with its new limits; undefined when no valid service token has that id. */
  async setLimits(tokenId: string, limits: TokenLimits, nowMs: number): Promise<Token | undefined> {
    const audit = { atMs: nowMs, action: 'token.limits_set', details: { ...limits } } as const;
    const isChanged = await this.#change(tokenId, toLimitColumns(limits), audit, 'service');
    return isChanged ? await this.findById(tokenId) : undefined;
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

  /** Whether there was such a token, not revoked before. */
  async #change(
    tokenId: string,
    columns: Updateable<TokensTable>,
    audit: AuditRecord,
    kind?: Token['kind'],
  ): Promise<boolean> {
    return await this.#database.transaction().execute(async (transaction) => {
      const change_sequence = await nextSequence(transaction);
      const { numUpdatedRows } = await transaction
        .updateTable('tokens')
        .set({ ...columns, change_sequence })
        .where('token_id', '=', tokenId)
        .where('revoked_at_ms', 'is', null)
        .$if(kind !== undefined, (query) => query.where('kind', '=', kind ?? 'service'))
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
      await recordAudit(transaction, tokenId, audit);
      return true;
    });
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

interface AuditRecord {
  readonly atMs: number;
  readonly action: 'token.issued' | 'token.revoked' | 'token.limits_set';
  /** What was set. Never a secret. */
  readonly details: Readonly<Record<string, string | number | undefined>>;
}

/** Notes what an operator did to a token, in the transaction that does it. */
async function recordAudit(
  transaction: Transaction<Database>,
  subject: string,
  { atMs, action, details }: AuditRecord,
): Promise<void> {
  await transaction
    .insertInto('audit_log')
    .values({ audit_id: randomUUID(), at_ms: atMs, action, subject, details: JSON.stringify(details) })
    .execute();
}
