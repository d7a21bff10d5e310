import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import type { PoolClient } from 'pg';
import type { PostgresServers } from './postgres-servers.ts';

/** How much longer than a statement may take its answer is waited for, before the connection counts as dead. */
export const answerGraceMs = 2_000;

/**
 * Connections whose statements end in time, and that are given up when they can't be trusted any more. One whose answer is
 * overdue would make the next query wait behind that answer.
 *
 * Limits can't be settings of a session: behind PgBouncer a session is shared with others. They are settings of each transaction,
 * so that the server ends one whose client is gone too, and a statement on its own gets a transaction.
 */
export class PostgresConnections implements PostgresPool {
  readonly #servers: PostgresServers;
  readonly #statementTimeoutMs: number;

  /** @param statementTimeoutMs 0: no limit. */
  constructor(servers: PostgresServers, statementTimeoutMs: number) {
    this.#servers = servers;
    this.#statementTimeoutMs = statementTimeoutMs;
  }

  get options(): object {
    return this.#servers.options;
  }

  async connect(): Promise<PostgresPoolClient> {
    return new PostgresConnection(this.#servers, await this.#servers.connect(), this.#statementTimeoutMs);
  }

  end(): Promise<void> {
    return this.#servers.end();
  }
}

class PostgresConnection implements PostgresPoolClient {
  readonly #servers: PostgresServers;
  readonly #client: PoolClient;
  readonly #statementTimeoutMs: number;
  #inTransaction = false;
  #isGivenUp = false;

  constructor(servers: PostgresServers, client: PoolClient, statementTimeoutMs: number) {
    this.#servers = servers;
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
    this.#client.release(destroy || this.#isGivenUp);
  }

  async #query(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    // What is sent now would wait behind the overdue answer, or go to a server that ends.
    if (this.#isGivenUp)
      throw new Error('The connection was given up after a statement timeout, or when its server ended.');
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
      if (!this.#isGivenUp) await this.#send('rollback', []).catch(ignore);
      throw thrown;
    } finally {
      this.#inTransaction = false;
    }
  }

  async #send(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    try {
      return await this.#client.query(sql, [...parameters]);
    } catch (thrown) {
      if (isServerGone(thrown)) {
        this.#isGivenUp = true;
        this.#servers.distrustConnections();
      }
      throw thrown;
    }
  }
}

/** True when the server does not answer, ends, or takes no writes any more: read_only_sql_transaction, admin_shutdown, crash_shutdown. */
function isServerGone(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (thrown.message === 'Query read timeout') return true;
  return 'code' in thrown && ['25006', '57P01', '57P02'].includes(String(thrown.code));
}

function ignore(): void {}
