import { hash } from 'node:crypto';
import type { GatewayDatabase, OperatorSessionsTable } from '@gateway/database';
import { epochMs, randomBytes } from '@gateway/time';

/** A browser's session, of an operator, of the holder of a caller's token, or of a person. */
export type StoredSession = OperatorSessionsTable;

/** The holder of a session. */
export type SessionHolder =
  | { readonly operator_id: string; readonly token_id: null; readonly token_revision: null; readonly person_id: null }
  | { readonly operator_id: null; readonly token_id: string; readonly token_revision: number; readonly person_id: null }
  | { readonly operator_id: null; readonly token_id: null; readonly token_revision: null; readonly person_id: string };

/** How long a session lasts. */
export interface SessionRules {
  /** A session ends after this time without use. */
  readonly sessionIdleMs: number;
  /** A session ends after this time, used or not. */
  readonly sessionMaxMs: number;
  /**
   * A session from the OpenID Connect provider ends sooner: its groups are only read at a sign-in.
   */
  readonly oidcSessionMs: number;
}

/** The method of a sign-in. */
export type SignInMethod = 'token' | 'oidc';

/** The sessions of browsers. Only the cookie has the secret: the database has its hash. */
export class SessionStore {
  readonly #database: GatewayDatabase;
  readonly #rules: SessionRules;

  constructor(database: GatewayDatabase, rules: SessionRules) {
    this.#database = database;
    this.#rules = rules;
  }

  /** Begins a session. Only the cookie may contain `secret`. */
  async begin(
    holder: SessionHolder,
    method: SignInMethod,
  ): Promise<{ readonly secret: string; readonly session: StoredSession }> {
    await this.#removeEnded();
    const secret = randomBytes(32).toString('base64url');
    const nowMs = epochMs();
    const { sessionMaxMs, oidcSessionMs } = this.#rules;
    const session = {
      session_hash: hash('sha256', secret),
      ...holder,
      csrf_token: randomBytes(32).toString('base64url'),
      created_at_ms: nowMs,
      used_at_ms: nowMs,
      expires_at_ms: nowMs + (method === 'oidc' ? Math.min(oidcSessionMs, sessionMaxMs) : sessionMaxMs),
    };
    await this.#database.insertInto('operator_sessions').values(session).execute();
    await this.#removeBeyond(holder);
    return { secret, session };
  }

  /**
   * The session of a cookie, which counts as used now. Undefined if it has ended or never existed.
   */
  async use(secret: string): Promise<StoredSession | undefined> {
    const nowMs = epochMs();
    const session = await this.#database
      .selectFrom('operator_sessions')
      .selectAll()
      .where('session_hash', '=', hash('sha256', secret))
      .where('expires_at_ms', '>', nowMs)
      .where('used_at_ms', '>', nowMs - this.#rules.sessionIdleMs)
      .executeTakeFirst();
    // Not with every call: this limits writes to the database.
    if (session !== undefined && nowMs - session.used_at_ms >= 60_000) {
      await this.#database
        .updateTable('operator_sessions')
        .set({ used_at_ms: nowMs })
        .where('session_hash', '=', session.session_hash)
        .execute();
    }
    return session;
  }

  async end({ session_hash }: Pick<StoredSession, 'session_hash'>): Promise<void> {
    await this.#database.deleteFrom('operator_sessions').where('session_hash', '=', session_hash).execute();
  }

  async endOfPerson(personId: string): Promise<void> {
    await this.#database.deleteFrom('operator_sessions').where('person_id', '=', personId).execute();
  }

  /** Whether a browser is signed in as this person. */
  async hasOfPerson(personId: string): Promise<boolean> {
    const nowMs = epochMs();
    const open = await this.#database
      .selectFrom('operator_sessions')
      .select('session_hash')
      .where('person_id', '=', personId)
      .where('expires_at_ms', '>', nowMs)
      .where('used_at_ms', '>', nowMs - this.#rules.sessionIdleMs)
      .executeTakeFirst();
    return open !== undefined;
  }

  async count(): Promise<number> {
    const nowMs = epochMs();
    const { open } = await this.#database
      .selectFrom('operator_sessions')
      .select(({ fn }) => fn.countAll<number>().as('open'))
      .where('expires_at_ms', '>', nowMs)
      .where('used_at_ms', '>', nowMs - this.#rules.sessionIdleMs)
      .executeTakeFirstOrThrow();
    return Number(open);
  }

  /** Ends the oldest sessions of a holder who has too many. */
  async #removeBeyond({ operator_id, token_id, person_id }: SessionHolder): Promise<void> {
    await this.#database
      .deleteFrom('operator_sessions')
      .where('session_hash', 'in', (query) =>
        query
          .selectFrom('operator_sessions')
          .select('session_hash')
          .where('operator_id', operator_id === null ? 'is' : '=', operator_id)
          .where('token_id', token_id === null ? 'is' : '=', token_id)
          .where('person_id', person_id === null ? 'is' : '=', person_id)
          .orderBy('created_at_ms', 'desc')
          .orderBy('session_hash')
          // SQLite requires a limit for an offset.
          .limit(10_000)
          .offset(mostOfHolder),
      )
      .execute();
  }

  async #removeEnded(): Promise<void> {
    const nowMs = epochMs();
    await this.#database
      .deleteFrom('operator_sessions')
      .where(({ or, eb }) =>
        or([eb('expires_at_ms', '<=', nowMs), eb('used_at_ms', '<=', nowMs - this.#rules.sessionIdleMs)]),
      )
      .execute();
  }
}

/** The most simultaneous sessions of one holder. */
export const mostOfHolder = 100;
