import type { Database, GatewayDatabase, PeopleTable, PersonSessionsTable } from '@gateway/database';
import { randomBytes, randomId } from '@gateway/time';
import { type Selectable, sql, type Transaction } from 'kysely';
import type { TokenHash } from '../hashing/hash-key.ts';
import { nextSequence } from '../store/token-store.ts';
import { followPerson, revokeTokens } from './tokens-of-person.ts';

export type Person = Selectable<PeopleTable>;
export type PersonSession = Selectable<PersonSessionsTable>;

/** What the OpenID Connect provider says about a person. */
export interface PersonDetails
  extends Pick<Person, 'issuer' | 'subject' | 'email' | 'name' | 'group_id' | 'tokens_until_ms'> {}

/** The texts of a generation, as the database keeps them. */
export interface SessionHash {
  readonly generation: number;
  readonly hash: TokenHash;
  readonly expiresAtMs: number;
}

export interface NewSession extends Pick<PersonSession, 'surface' | 'client' | 'address'> {
  readonly sessionId: string;
  readonly seed: string;
}

/**
 * People, their sessions, and the personal tokens of these sessions. Transactions write in the
 * order of `lockOrder`.
 */
export class PersonStore {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /**
   * The person with this subject. Details, the group of the tokens and their latest end follow the
   * provider. Undefined, and nothing changes: there is no such group.
   */
  async record(details: PersonDetails, nowMs: number): Promise<Person | undefined> {
    const { issuer, subject, email, name, group_id, tokens_until_ms } = details;
    return await this.#database.transaction().execute(async (transaction) => {
      const people = transaction.selectFrom('people').where('issuer', '=', issuer).where('subject', '=', subject);
      const before = await people.select('group_id').executeTakeFirst();
      const isOther = group_id !== null && group_id !== before?.group_id;
      // Without the group, a token would be free of its rules.
      if (isOther && !(await isGroup(transaction, group_id))) return undefined;
      const person = await transaction
        .insertInto('people')
        .values({ ...details, person_id: randomId(), created_at_ms: nowMs, last_seen_at_ms: nowMs })
        .onConflict((conflict) =>
          conflict
            .columns(['issuer', 'subject'])
            .doUpdateSet({ email, name, group_id, tokens_until_ms, last_seen_at_ms: nowMs }),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      await followPerson(transaction, person);
      return person;
    });
  }

  async find(personId: string): Promise<Person | undefined> {
    return await this.#database.selectFrom('people').selectAll().where('person_id', '=', personId).executeTakeFirst();
  }

  /** People by the time when they were last seen, with the latest first. */
  async list(search: string, most: number, after: PersonPlace | undefined): Promise<readonly Person[]> {
    const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`;
    return await this.#database
      .selectFrom('people')
      .selectAll()
      .$if(search !== '', (query) =>
        query.where(
          sql<boolean>`lower(email) like lower(${pattern}) escape '\\' or lower(name) like lower(${pattern}) escape '\\'`,
        ),
      )
      .$if(after !== undefined, (query) =>
        query.where(sql<boolean>`(last_seen_at_ms, person_id) < (${after?.last_seen_at_ms}, ${after?.person_id})`),
      )
      .orderBy('last_seen_at_ms', 'desc')
      .orderBy('person_id', 'desc')
      .limit(most)
      .execute();
  }

  /**
   * Begins a session with its token, if the grant is approved and was not used before. Undefined
   * otherwise.
   */
  async begin(
    deviceCodeHash: string,
    person: Person,
    session: NewSession,
    { generation, hash, expiresAtMs }: SessionHash,
    nowMs: number,
  ): Promise<PersonSession | undefined> {
    return await this.#database.transaction().execute(async (transaction) => {
      const locked = await lockEnabled(transaction, person.person_id);
      if (locked === undefined) return undefined;
      const used = await transaction
        .updateTable('device_grants')
        .set({ state: 'used' })
        .where('device_code_hash', '=', deviceCodeHash)
        .where('state', '=', 'approved')
        .executeTakeFirst();
      if (used.numUpdatedRows === 0n) return undefined;
      const tokenId = randomId();
      const { sessionId: session_id, ...more } = session;
      const { person_id } = person;
      const row = { ...more, session_id, person_id, token_id: tokenId, hash_key_id: hash.keyId, generation };
      const begun = await transaction
        .insertInto('person_sessions')
        .values({ ...row, rotated_at_ms: nowMs, created_at_ms: nowMs, ended_at_ms: null })
        .returningAll()
        .executeTakeFirstOrThrow();
      await transaction
        .insertInto('tokens')
        .values({
          ...{ token_id: tokenId, kind: 'personal', label: labelOf(person, session.surface) },
          ...{ requests_per_minute: null, tokens_per_day: null, change_sequence: 0 },
          ...{ hash_key_id: hash.keyId, token_hash: hash.hash, created_at_ms: nowMs, expires_at_ms: expiresAtMs },
          ...{ revoked_at_ms: null, previous_hash_key_id: null, previous_token_hash: null, previous_until_ms: null },
          ...{ group_id: locked.group_id, person_id },
        })
        .execute();
      return begun;
    });
  }

  /** A session with its person, whether it has ended or not. */
  async findSession(sessionId: string): Promise<{ session: PersonSession; person: Person } | undefined> {
    const session = await this.#database
      .selectFrom('person_sessions')
      .selectAll()
      .where('session_id', '=', sessionId)
      .executeTakeFirst();
    const person = session && (await this.find(session.person_id));
    return session === undefined || person === undefined ? undefined : { session, person };
  }

  /** The session of a token. */
  async findSessionOf(tokenId: string): Promise<PersonSession | undefined> {
    return await this.#database
      .selectFrom('person_sessions')
      .selectAll()
      .where('token_id', '=', tokenId)
      .executeTakeFirst();
  }

  /**
   * Gives a session its next generation. The access token before stays valid until it expires.
   * Undefined: another call was faster, the session has ended, or the person is disabled.
   */
  async rotate(
    { session_id, person_id, token_id, generation: before }: PersonSession,
    { generation, hash, expiresAtMs }: SessionHash,
    { client, address }: Pick<PersonSession, 'client' | 'address'>,
    nowMs: number,
  ): Promise<PersonSession | undefined> {
    return await this.#database.transaction().execute(async (transaction) => {
      const person = await transaction
        .updateTable('people')
        .set({ last_seen_at_ms: nowMs })
        .where('person_id', '=', person_id)
        .where('disabled_at_ms', 'is', null)
        .returning('group_id')
        .executeTakeFirst();
      if (person === undefined) return undefined;
      const rotated = await transaction
        .updateTable('person_sessions')
        .set({ generation, hash_key_id: hash.keyId, rotated_at_ms: nowMs, client, address })
        .where('session_id', '=', session_id)
        .where('generation', '=', before)
        .where('ended_at_ms', 'is', null)
        .returningAll()
        .executeTakeFirst();
      if (rotated === undefined) return undefined;
      const change_sequence = await nextSequence(transaction);
      await transaction
        .updateTable('tokens')
        .set({
          ...{ change_sequence, group_id: person.group_id, revision: sql`revision + 1` },
          // These refer to the values before this statement.
          ...{ previous_hash_key_id: sql<string>`hash_key_id`, previous_token_hash: sql<string>`token_hash` },
          previous_until_ms: sql<number>`expires_at_ms`,
          ...{ hash_key_id: hash.keyId, token_hash: hash.hash, expires_at_ms: expiresAtMs },
        })
        .where('token_id', '=', token_id)
        .execute();
      return rotated;
    });
  }

  /** The sessions of people that have not ended. */
  async sessionsOf(personIds: readonly string[]): Promise<readonly PersonSession[]> {
    if (personIds.length === 0) return [];
    return await this.#database
      .selectFrom('person_sessions')
      .selectAll()
      .where('person_id', 'in', personIds)
      .where('ended_at_ms', 'is', null)
      .orderBy('rotated_at_ms', 'desc')
      .execute();
  }

  /**
   * Ends sessions of a person, and revokes their tokens. Returns those that had not ended.
   * `withTokens`: also the tokens that the person has issued. `suspendTokens`: these end until the
   * person signs in again.
   */
  async endSessions(
    personId: string,
    sessionId: string | undefined,
    nowMs: number,
    { withTokens = false, suspendTokens = false }: EndOptions = {},
  ): Promise<readonly PersonSession[]> {
    return await this.#database.transaction().execute(async (transaction) => {
      const columns = suspendTokens ? { tokens_until_ms: nowMs } : undefined;
      const people = columns && transaction.updateTable('people').set(columns).where('person_id', '=', personId);
      const person = await people?.returningAll().executeTakeFirst();
      const ended = await endSessions(transaction, personId, sessionId, nowMs);
      if (person !== undefined) await followPerson(transaction, person);
      if (withTokens) await revokeTokens(transaction, personId, undefined, nowMs);
      return ended;
    });
  }

  /**
   * Disables a person, with all sessions and tokens, or enables the person again. Undefined: there
   * is no such person.
   */
  async setDisabled(personId: string, isDisabled: boolean, nowMs: number): Promise<Person | undefined> {
    return await this.#database.transaction().execute(async (transaction) => {
      const person = await transaction
        .updateTable('people')
        .set({ disabled_at_ms: isDisabled ? sql<number>`coalesce(disabled_at_ms, ${nowMs})` : null })
        .where('person_id', '=', personId)
        .returningAll()
        .executeTakeFirst();
      if (person !== undefined && isDisabled) {
        await endSessions(transaction, personId, undefined, nowMs);
        await revokeTokens(transaction, personId, undefined, nowMs);
      }
      return person;
    });
  }
}

async function isGroup(transaction: Transaction<Database>, groupId: string): Promise<boolean> {
  const found = await transaction
    .selectFrom('token_groups')
    .select('group_id')
    .where('group_id', '=', groupId)
    .where('deleted_at_ms', 'is', null)
    .executeTakeFirst();
  return found !== undefined;
}

interface EndOptions {
  readonly withTokens?: boolean;
  readonly suspendTokens?: boolean;
}

/** The position of a person in the list. */
export type PersonPlace = Pick<Person, 'last_seen_at_ms' | 'person_id'>;

/**
 * The person, unless disabled, locked until the transaction ends: a token that is added in it is
 * either not added, or revoked when the person is disabled.
 */
export async function lockEnabled(transaction: Transaction<Database>, personId: string): Promise<Person | undefined> {
  return await transaction
    .updateTable('people')
    .set(({ ref }) => ({ name: ref('name') }))
    .where('person_id', '=', personId)
    .where('disabled_at_ms', 'is', null)
    .returningAll()
    .executeTakeFirst();
}

export function createSeed() {
  return { sessionId: randomId(), seed: randomBytes(32).toString('base64url') };
}

async function endSessions(
  transaction: Transaction<Database>,
  personId: string,
  sessionId: string | undefined,
  nowMs: number,
): Promise<readonly PersonSession[]> {
  const ended = await transaction
    .updateTable('person_sessions')
    .set({ ended_at_ms: nowMs })
    .where('person_id', '=', personId)
    .where('ended_at_ms', 'is', null)
    .$if(sessionId !== undefined, (query) => query.where('session_id', '=', sessionId ?? ''))
    .returningAll()
    .execute();
  if (ended.length > 0) await revokeTokens(transaction, personId, ended, nowMs);
  return ended;
}

/** Tells the tokens of a person apart in reports. At most 100 characters. */
function labelOf({ email, name }: Person, surface: string): string {
  const person = (email || name || 'unnamed').slice(0, 70);
  return `${person} (${surface.slice(0, 25) || 'client'})`;
}
