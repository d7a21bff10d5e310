import type { Secret } from '@gateway/config';
import { type EncryptionKey, EnvelopeEncryption, secretText } from '@gateway/config/encryption';
import type { GatewayDatabase, PersonGrantsTable } from '@gateway/database';

export type PersonGrant = PersonGrantsTable;

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
    const columns = { ...this.#encrypted(personId, refreshToken), created_at_ms: nowMs, due_at_ms: dueAtMs };
    await this.#database
      .insertInto('person_grants')
      .values({ person_id: personId, ...columns })
      .onConflict((conflict) => conflict.column('person_id').doUpdateSet(columns))
      .execute();
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

  /** False: another replica was faster. */
  async claim({ person_id, due_at_ms }: PersonGrant, nextDueAtMs: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#database
      .updateTable('person_grants')
      .set({ due_at_ms: nextDueAtMs })
      .where('person_id', '=', person_id)
      .where('due_at_ms', '=', due_at_ms)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /** @throws DecryptionError */
  refreshTokenOf({ person_id, key_id, refresh_token }: PersonGrant): Secret {
    return this.#encryption.decrypt(person_id, { keyId: key_id, text: refresh_token }, secretText);
  }

  /** Keeps the token that replaces a used one, unless the person has signed in again meanwhile. */
  async replace({ person_id, refresh_token }: PersonGrant, next: Secret): Promise<void> {
    await this.#database
      .updateTable('person_grants')
      .set(this.#encrypted(person_id, next))
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
