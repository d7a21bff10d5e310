import {
  type Database,
  type GatewayDatabase,
  isRefusedData,
  type OperatorsTable,
  type StoredRole,
  withSerializationRetry,
} from '@gateway/database';
import { epochMs, randomId } from '@gateway/time';
import { tokenSha256 } from '@gateway/tokens';
import type { Transaction, Updateable } from 'kysely';
import type { Identity } from './oidc-provider.ts';
import { beginningOf, isOperatorName } from './operator-names.ts';

const columns = [
  'operator_id',
  'name',
  'role',
  'oidc_subject',
  'created_at_ms',
  'last_seen_at_ms',
  'disabled_at_ms',
  'revision',
] as const;

/** An operator, without credentials. */
export type Operator = Pick<OperatorsTable, (typeof columns)[number]>;

/** The reason why a change was not made. */
export type NotChanged = 'missing' | 'conflict' | 'last_admin' | 'by_groups';

/**
 * The operators. A change that takes a right from an operator ends the operator's sessions in the
 * same transaction.
 */
export class OperatorStore {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  async list(): Promise<readonly Operator[]> {
    return await this.#database.selectFrom('operators').select(columns).orderBy('name').execute();
  }

  async find(operatorId: string): Promise<Operator | undefined> {
    return await this.#select().where('operator_id', '=', operatorId).executeTakeFirst();
  }

  /** The enabled operator with this token. */
  async withToken(tokenText: string): Promise<Operator | undefined> {
    return await this.#select()
      .where('token_hash', '=', hashOf(tokenText))
      .where('disabled_at_ms', 'is', null)
      .executeTakeFirst();
  }

  /** Adds an operator with this token. Undefined if the name is taken. */
  async add(name: string, role: StoredRole, tokenText: string): Promise<Operator | undefined> {
    return await this.#insert({ name, role, token_hash: hashOf(tokenText), oidc_subject: null });
  }

  /** Adds the first operator, with this name and token. Undefined if there is any operator. */
  async addFirst(name: string, tokenText: string): Promise<Operator | undefined> {
    const any = await this.#database.selectFrom('operators').select('operator_id').limit(1).executeTakeFirst();
    return any === undefined ? await this.add(name, 'admin', tokenText) : undefined;
  }

  /** The operator that an OpenID Connect provider authenticated, created or updated. */
  async fromProvider(subject: string, name: string, role: StoredRole): Promise<Operator> {
    // A name that another operator has would identify that person in the audit log.
    const short = beginningOf(name, 60);
    const names = [name, `${short} (${beginningOf(subject, 30)})`, `${short} (${randomId()})`];
    for (const free of names.filter(isOperatorName)) {
      const known = await this.#select().where('oidc_subject', '=', subject).executeTakeFirst();
      if (known !== undefined) {
        if (known.role === role || known.disabled_at_ms !== null) return known;
        return await this.#transaction((transaction) => this.#set(transaction, known.operator_id, { role }));
      }
      const added = await this.#insert({ name: free, role, token_hash: null, oidc_subject: subject });
      if (added !== undefined) return added;
    }
    throw new Error('No name for an operator is free.');
  }

  /**
   * Gives an operator the role that the provider gives now. Without a role, the sessions end. True:
   * an operator has another role now.
   */
  async followProvider({ subject, name, role }: Pick<Identity, 'subject' | 'name' | 'role'>): Promise<boolean> {
    const known = await this.#select().where('oidc_subject', '=', subject).executeTakeFirst();
    if (known === undefined) return false;
    if (role === undefined) await this.endSessionsOf(subject);
    else return (await this.fromProvider(subject, name, role)).role !== known.role;
    return false;
  }

  /** @param expectedRevision 0: any */
  async update(
    operatorId: string,
    { role, disabled }: { readonly role?: StoredRole | undefined; readonly disabled?: boolean | undefined },
    expectedRevision: number,
  ): Promise<Operator | NotChanged> {
    return await this.#transaction(async (transaction) => {
      // Locks all rows, so that two admins can't remove each other as the last one at the same
      // time.
      await transaction
        .updateTable('operators')
        .set(({ ref }) => ({ revision: ref('revision') }))
        .execute();
      const all = await transaction.selectFrom('operators').select(columns).execute();
      const known = all.find(({ operator_id }) => operator_id === operatorId);
      if (known === undefined) return 'missing';
      if (expectedRevision !== 0 && known.revision !== expectedRevision) return 'conflict';
      if (role !== undefined && role !== known.role && known.oidc_subject !== null) return 'by_groups';
      const isAdmin = (operator: Operator) => operator.role === 'admin' && operator.disabled_at_ms === null;
      const staysAdmin = (role ?? known.role) === 'admin' && !(disabled ?? known.disabled_at_ms !== null);
      const others = all.filter((operator) => operator !== known && isAdmin(operator));
      if (isAdmin(known) && !staysAdmin && others.length === 0) return 'last_admin';
      const disabled_at_ms = disabled ? (known.disabled_at_ms ?? epochMs()) : null;
      return await this.#set(transaction, operatorId, { role, ...(disabled !== undefined && { disabled_at_ms }) });
    });
  }

  /**
   * Replaces the token; the old one is invalid from now on.
   * @param expectedRevision 0: any
   */
  async rotate(operatorId: string, tokenText: string, expectedRevision: number): Promise<Operator | NotChanged> {
    return await this.#transaction(async (transaction) => {
      // Locks the row, so that concurrent rotations are detected.
      const known = await transaction
        .updateTable('operators')
        .set(({ ref }) => ({ revision: ref('revision') }))
        .where('operator_id', '=', operatorId)
        .returning(['oidc_subject', 'revision'])
        .executeTakeFirst();
      if (known === undefined) return 'missing';
      if (expectedRevision !== 0 && known.revision !== expectedRevision) return 'conflict';
      if (known.oidc_subject !== null) return 'by_groups';
      return await this.#set(transaction, operatorId, { token_hash: hashOf(tokenText) });
    });
  }

  /** Ends the sessions of an operator whose provider no longer gives a role. */
  async endSessionsOf(subject: string): Promise<void> {
    await this.#database
      .deleteFrom('operator_sessions')
      .where('operator_id', 'in', (query) =>
        query.selectFrom('operators').select('operator_id').where('oidc_subject', '=', subject),
      )
      .execute();
  }

  /** Records that the operator was active, at most once a minute. */
  async seen({ operator_id, last_seen_at_ms }: Operator): Promise<void> {
    const nowMs = epochMs();
    if (last_seen_at_ms !== null && nowMs - last_seen_at_ms < 60_000) return;
    await this.#database
      .updateTable('operators')
      .set({ last_seen_at_ms: nowMs })
      .where('operator_id', '=', operator_id)
      .execute()
      // On a full disk an operator must still see what is wrong.
      .catch(() => undefined);
  }

  #select() {
    return this.#database.selectFrom('operators').select(columns);
  }

  async #insert(
    given: Pick<OperatorsTable, 'name' | 'role' | 'token_hash' | 'oidc_subject'>,
  ): Promise<Operator | undefined> {
    const created_at_ms = epochMs();
    const row = { operator_id: randomId(), created_at_ms, last_seen_at_ms: null, disabled_at_ms: null, revision: 1 };
    try {
      return await this.#database
        .insertInto('operators')
        .values({ ...row, ...given })
        .returning(columns)
        .executeTakeFirstOrThrow();
    } catch (thrown) {
      if (isRefusedData(thrown)) return undefined;
      throw thrown;
    }
  }

  /** Each change is a new revision, and ends the operator's sessions. */
  async #set(transaction: Transaction<Database>, operatorId: string, change: Updateable<OperatorsTable>) {
    await transaction.deleteFrom('operator_sessions').where('operator_id', '=', operatorId).execute();
    return await transaction
      .updateTable('operators')
      .set(({ eb }) => ({ ...change, revision: eb('revision', '+', 1) }))
      .where('operator_id', '=', operatorId)
      .returning(columns)
      .executeTakeFirstOrThrow();
  }

  async #transaction<T>(work: (transaction: Transaction<Database>) => Promise<T>): Promise<T> {
    return await withSerializationRetry(() => this.#database.transaction().execute(work));
  }
}

/** The name of the operator that ADMIN_TOKEN belongs to. */
export const firstOperatorName = 'admin';

function hashOf(tokenText: string): string {
  return tokenSha256(tokenText).toString('hex');
}
