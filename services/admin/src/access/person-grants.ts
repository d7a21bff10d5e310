import type { Secret } from '@gateway/config';
import { type EncryptionKey, EnvelopeEncryption, secretText } from '@gateway/config/encryption';
import type { GatewayDatabase, PersonGrantsTable } from '@gateway/database';
import type { Selectable } from 'kysely';

export type PersonGrant = Selectable<PersonGrantsTable>;

/**
 * The refresh tokens that the OpenID Connect provider gave for people, one for each person. They
 * are encrypted, each for its person.
 */
export class PersonGrants {
  readonly #database: GatewayDatabase;
  readonly #encryption: EnvelopeEncryption<string>;

  constructor(database: GatewayDatabase, keys: readonly EncryptionKey[]) {
    this.#database = database;
    this.#encryption = new EnvelopeEncryption(keys, (personId) => ['person grant', personId]);
  }

  /** Keeps what the provider gave at a sign-in, in place of what it gave before. */
  async keep(personId: string, refreshToken: Secret, nowMs: number, dueAtMs: number): Promise<void> {
    const times = { created_at_ms: nowMs, due_at_ms: dueAtMs, asked_at_ms: null };
    const columns = { ...this.#encrypted(personId, refreshToken), ...times };
    await this.#database
      .insertInto('person_grants')
      .values({ person_id: personId, ...columns })
      .onConflict((conflict) => conflict.column('person_id').doUpdateSet(columns))
      .execute();
  }

  /** Notes that the provider gave nothing at a sign-in, unless it gave something before. */
  async keepNone(personId: string, nowMs: number, dueAtMs: number): Promise<void> {
    await this.#database
      .insertInto('person_grants')
      .values({ person_id: personId, key_id: '', refresh_token: '', created_at_ms: nowMs, due_at_ms: dueAtMs })
      .onConflict((conflict) => conflict.column('person_id').doNothing())
      .execute();
  }

  /** Whether the person can be looked up. */
  async has(personId: string): Promise<boolean> {
    const kept = this.#database.selectFrom('person_grants').select('person_id').where('person_id', '=', personId);
    return (await kept.where('refresh_token', '<>', '').executeTakeFirst()) !== undefined;
  }

  /** How many people with something to end can't be looked up. */
  async countWithout(): Promise<number> {
    const { people } = await this.#database
      .selectFrom('person_grants')
      .select(({ fn }) => fn.countAll<number>().as('people'))
      .where('refresh_token', '=', '')
      .executeTakeFirstOrThrow();
    return Number(people);
  }

  /** Those whose people are to be looked up, longest due first. */
  async due(most: number, nowMs: number): Promise<readonly PersonGrant[]> {
    return await this.#database
      .selectFrom('person_grants')
      .selectAll()
      .where('due_at_ms', '<=', nowMs)
      .orderBy('due_at_ms')
      .limit(most)
      .execute();
  }

  /**
   * Begins a lookup, which no other replica begins until the lease ends. The grant as it is now.
   * Undefined: another replica was faster.
   */
  async claim({ person_id, due_at_ms }: PersonGrant, leaseEndMs: number): Promise<PersonGrant | undefined> {
    return await this.#database
      .updateTable('person_grants')
      .set({ due_at_ms: leaseEndMs })
      .where('person_id', '=', person_id)
      .where('due_at_ms', '=', due_at_ms)
      .returningAll()
      .executeTakeFirst();
  }

  /** Ends a lookup that `claim` began, unless its lease has ended. */
  async release({ person_id, due_at_ms }: PersonGrant, nextDueAtMs: number): Promise<void> {
    await this.#database
      .updateTable('person_grants')
      .set({ due_at_ms: nextDueAtMs })
      .where('person_id', '=', person_id)
      .where('due_at_ms', '=', due_at_ms)
      .execute();
  }

  /**
   * Notes since when an answer about this refresh token is awaited, or that none is. False: the
   * person has signed in again since the grant was read.
   */
  async noteAsked({ person_id, refresh_token }: PersonGrant, askedAtMs: number | null): Promise<boolean> {
    const { numUpdatedRows } = await this.#database
      .updateTable('person_grants')
      .set({ asked_at_ms: askedAtMs })
      .where('person_id', '=', person_id)
      .where('refresh_token', '=', refresh_token)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /** @throws DecryptionError */
  refreshTokenOf({ person_id, key_id, refresh_token }: PersonGrant): Secret {
    return this.#encryption.decrypt(person_id, { keyId: key_id, text: refresh_token }, secretText);
  }

  /**
   * Keeps the token that replaces a used one, unless the person has signed in again meanwhile.
   * Undefined: nothing replaces it.
   */
  async replace({ person_id, refresh_token }: PersonGrant, next: Secret | undefined): Promise<void> {
    const columns = next === undefined ? { key_id: '', refresh_token: '' } : this.#encrypted(person_id, next);
    await this.#database
      .updateTable('person_grants')
      .set({ ...columns, asked_at_ms: null })
      .where('person_id', '=', person_id)
      .where('refresh_token', '=', refresh_token)
      .execute();
  }

  /** Removes a grant, unless the person has signed in again since it was read. */
  async forget({ person_id, created_at_ms }: PersonGrant): Promise<boolean> {
    const { numDeletedRows } = await this.#database
      .deleteFrom('person_grants')
      .where('person_id', '=', person_id)
      .where('created_at_ms', '=', created_at_ms)
      .executeTakeFirstOrThrow();
    return numDeletedRows > 0n;
  }

  #encrypted(personId: string, refreshToken: Secret) {
    const { keyId, text } = this.#encryption.encrypt(personId, refreshToken);
    return { key_id: keyId, refresh_token: text };
  }
}
