import { randomUUID } from 'node:crypto';
import type { Database, GatewayDatabase, StoredTokenKind, TokensTable } from '@gateway/database';
import type { Transaction, Updateable } from 'kysely';
import type { TokenHash } from '../hashing/hash-key.ts';
import type { TokenLimits } from '../tokens/token-rules.ts';

const tokenColumns = [
  'token_id',
  'kind',
  'label',
  'requests_per_minute',
  'tokens_per_day',
  'created_at_ms',
  'revoked_at_ms',
] as const;

/** A caller's token, without its text, which only its holder has. */
export type Token = Pick<TokensTable, (typeof tokenColumns)[number]>;

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
    return await this.#tokens()
      .where(({ or, and, eb }) =>
        or(hashes.map(({ keyId, hash }) => and([eb('token_hash', '=', hash), eb('hash_key_id', '=', keyId)]))),
      )
      .executeTakeFirst();
  }

  async findById(tokenId: string): Promise<Token | undefined> {
    return await this.#tokens().where('token_id', '=', tokenId).executeTakeFirst();
  }

  /** All tokens, newest first. */
  async list({ includeRevoked }: { readonly includeRevoked: boolean }): Promise<readonly Token[]> {
    return await this.#tokens()
      .$if(!includeRevoked, (query) => query.where('revoked_at_ms', 'is', null))
      .orderBy('created_at_ms', 'desc')
      .orderBy('token_id', 'desc')
      .execute();
  }

  async add(kind: StoredTokenKind, label: string, limits: TokenLimits, hash: TokenHash, nowMs: number): Promise<Token> {
    const token: Token = {
      token_id: randomUUID(),
      kind,
      label,
      ...toLimitColumns(limits),
      created_at_ms: nowMs,
      revoked_at_ms: null,
    };
    await this.#database.transaction().execute(async (transaction) => {
      const row = { ...token, hash_key_id: hash.keyId, token_hash: hash.hash, change_sequence: 0 };
      await transaction.insertInto('tokens').values(row).execute();
      const details = { kind, label, ...limits };
      await recordAudit(transaction, token.token_id, { atMs: nowMs, action: 'token.issued', details });
    });
    return token;
  }

  /** The token, revoked at `nowMs` or earlier; undefined when there is none of that id. */
  async revoke(tokenId: string, nowMs: number): Promise<Token | undefined> {
    const audit = { atMs: nowMs, action: 'token.revoked', details: {} } as const;
    return (await this.#change(tokenId, { revoked_at_ms: nowMs }, audit)) ?? (await this.findById(tokenId));
  }

  /** The token with its new limits; undefined when no valid service token has that id. */
  async setLimits(tokenId: string, limits: TokenLimits, nowMs: number): Promise<Token | undefined> {
    const audit = { atMs: nowMs, action: 'token.limits_set', details: { ...limits } } as const;
    return await this.#change(tokenId, toLimitColumns(limits), audit, 'service');
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

  #tokens() {
    return this.#database.selectFrom('tokens').select(tokenColumns);
  }

  /** The changed token; undefined when there is no such one that was not revoked before. */
  async #change(tokenId: string, columns: Updateable<TokensTable>, audit: AuditRecord, kind?: StoredTokenKind) {
    return await this.#database.transaction().execute(async (transaction) => {
      const change_sequence = await nextSequence(transaction);
      const changed = await transaction
        .updateTable('tokens')
        .set({ ...columns, change_sequence })
        .where('token_id', '=', tokenId)
        .where('revoked_at_ms', 'is', null)
        .$if(kind !== undefined, (query) => query.where('kind', '=', kind ?? 'service'))
        .returning(tokenColumns)
        .executeTakeFirst();
      if (changed !== undefined) await recordAudit(transaction, tokenId, audit);
      return changed;
    });
  }
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
