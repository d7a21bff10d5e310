import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';

/** How much longer than a statement may take its answer is waited for, before the connection counts as dead. */
export const answerGraceMs = 2_000;

/**
 * A pool whose statements end in time, and that gives up connections which can't be trusted any more. A connection whose
 * answer is overdue would make the next query wait behind that answer, and one that breaks between two queries would end the
 * process.
 *
 * Limits can't be settings of a session: behind PgBouncer a session is shared with others. They are settings of each transaction,
 * so that the server ends one whose client is gone too, and a statement on its own gets a transaction.
 */
export class PostgresConnections implements PostgresPool {
  readonly #pool: Pool;
  readonly #statementTimeoutMs: number;

  /** @param statementTimeoutMs 0: no limit. */
  constructor(pool: Pool, statementTimeoutMs: number) {
    this.#pool = pool;
    this.#statementTimeoutMs = statementTimeoutMs;
    // A connection that breaks while idle is replaced by the pool; the next query sees whether that works.
    pool.on('error', ignore).on('connect', (client) => client.on('error', ignore));
  }

  get options(): object {
    return this.#pool.options;
  }

  async connect(): Promise<PostgresPoolClient> {
    return new PostgresConnection(await this.#pool.connect(), this.#statementTimeoutMs);
  }

  end(): Promise<void> {
    return this.#pool.end();
  }
}

class PostgresConnection implements PostgresPoolClient {
  readonly #client: PoolClient;
  readonly #statementTimeoutMs: number;
  #inTransaction = false;
  #overdue = false;

  constructor(client: PoolClient, statementTimeoutMs: number) {
    this.#client = client;
    this.#statementTimeoutMs = statementTimeoutMs;
  }

  query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query(sqlOrCursor: unknown, parameters: readonly unknown[] = []): unknown {
    if (typeof sqlOrCursor !== 'string') throw new TypeError('Cursors are not used here.');
    return this.#query(sqlOrCursor, parameters);
  }

  release(destroy = false): void {
    this.#client.release(destroy || this.#overdue);
  }

  async #query(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    // What is sent now would wait behind the overdue answer.
    if (this.#overdue) throw new Error('The connection was given up after a statement timeout.');
    // As Kysely begins and ends transactions.
    if (sql === 'begin' || sql.startsWith('start transaction')) return await this.#begin(sql);
    // Postgres takes what is done concurrently only outside transactions.
    const isAlone = !this.#inTransaction && this.#statementTimeoutMs > 0 && !sql.endsWith(' concurrently');
    if (sql === 'commit' || sql === 'rollback') this.#inTransaction = false;
    return isAlone ? await this.#sendInTransaction(sql, parameters) : await this.#send(sql, parameters);
  }

  /** Together with the limits of the transaction, which go by one message with its beginning. */
  async #begin(sql: string): Promise<unknown> {
    const limitMs = this.#statementTimeoutMs;
    const idleLimitMs = limitMs === 0 ? 0 : limitMs + answerGraceMs;
    const begun = await this.#send(
      `${sql}; set local statement_timeout = ${limitMs}; set local idle_in_transaction_session_timeout = ${idleLimitMs}`,
      [],
    );
    this.#inTransaction = true;
    // One result for each of the three statements.
    return Array.isArray(begun) ? begun[0] : begun;
  }

  async #sendInTransaction(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    await this.#begin('begin');
    try {
      const result = await this.#send(sql, parameters);
      await this.#send('commit', []);
      return result;
    } catch (thrown) {
      if (!this.#overdue) await this.#send('rollback', []).catch(ignore);
      throw thrown;
    } finally {
      this.#inTransaction = false;
    }
  }

  async #send(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    try {
      return await this.#client.query(sql, [...parameters]);
    } catch (thrown) {
      this.#overdue ||= thrown instanceof Error && thrown.message === 'Query read timeout';
      throw thrown;
    }
  }
}

function ignore(): void {}
