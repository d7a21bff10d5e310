import type { Database, GatewayDatabase } from '@gateway/database';
import type { Transaction } from 'kysely';
import type { TokenHash } from '../hashing/hash-key.ts';
import { insertToken, type Token, tokenColumns } from '../store/token-store.ts';
import { lockEnabled } from './person-store.ts';

export interface NewPersonToken {
  readonly label: string;
  readonly hash: TokenHash;
  readonly expiresAtMs: number;
}

/** Tokens that people have issued themselves. Those of their sessions are never among them. */
export class PersonTokens {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /** The valid ones, newest first. */
  async list(personId: string, nowMs: number): Promise<readonly Token[]> {
    return await validOnes(this.#database, personId, nowMs).orderBy('created_at_ms', 'desc').execute();
  }

  /** The ids of all tokens of a person, with those of sessions, newest first. */
  async allIds(personId: string, most: number): Promise<readonly string[]> {
    const rows = await this.#database
      .selectFrom('tokens')
      .select('token_id')
      .where('person_id', '=', personId)
      .orderBy('created_at_ms', 'desc')
      .limit(most)
      .execute();
    return rows.map(({ token_id }) => token_id);
  }

  /** The token with this id, if the person has issued it. */
  async find(personId: string, tokenId: string): Promise<Token | undefined> {
    return await issuedBy(this.#database, personId).where('token_id', '=', tokenId).executeTakeFirst();
  }

  /**
   * Adds a personal token in the person's group. It ends sooner if the provider can't be asked
   * about the person. `disabled`: the person is, or does not exist.
   * `full`: the person has `most` valid tokens. `unconfirmed`: the person must sign in again first.
   */
  async issue(
    personId: string,
    { label, hash, expiresAtMs }: NewPersonToken,
    most: number,
    nowMs: number,
  ): Promise<Token | 'disabled' | 'full' | 'unconfirmed'> {
    return await this.#database.transaction().execute(async (transaction) => {
      const person = await lockEnabled(transaction, personId);
      if (person === undefined) return 'disabled';
      const valid = await validOnes(transaction, personId, nowMs).execute();
      if (valid.length >= most) return 'full';
      const endsAtMs = Math.min(expiresAtMs, person.tokens_until_ms ?? expiresAtMs);
      if (endsAtMs <= nowMs) return 'unconfirmed';
      const details = { kind: 'personal', label, limits: {}, note: '', expiresAtMs: endsAtMs, hash } as const;
      const token = { ...details, groupId: person.group_id, access: { models: [], accountLabels: [] } };
      return await insertToken(transaction, { ...token, personId, wantedExpiryMs: expiresAtMs }, nowMs);
    });
  }
}

function issuedBy(database: GatewayDatabase | Transaction<Database>, personId: string) {
  return database
    .selectFrom('tokens')
    .select(tokenColumns)
    .where('person_id', '=', personId)
    .where('token_id', 'not in', (query) =>
      query.selectFrom('person_sessions').select('token_id').where('person_id', '=', personId),
    );
}

function validOnes(database: GatewayDatabase | Transaction<Database>, personId: string, nowMs: number) {
  return issuedBy(database, personId).where('revoked_at_ms', 'is', null).where('expires_at_ms', '>', nowMs);
}
