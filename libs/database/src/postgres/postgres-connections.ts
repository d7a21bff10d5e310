import { noteNoAnswer } from '@gateway/errors';
import { monotonicMs } from '@gateway/time';
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { PostgresAddress } from './database-url.ts';

/**
 * How long to wait for an answer beyond the statement's time limit before the connection counts as
 * dead.
 */
export const answerGraceMs = 2_000;

interface ConnectionRules {
  /** 0: no limit. */
  readonly statementTimeoutMs: number;
  /** Called after every use of the servers: whether a usable one answered. */
  readonly onUsed?: ((isUp: boolean) => void) | undefined;
}

/**
 * Connections to the servers of one database, of which the current primary accepts writes. They are
 * opened on demand, starting with the server that last accepted writes. Their statements have a
 * time limit.
 */
export class PostgresConnections implements PostgresPool {
  readonly options = {};
  readonly #pools: readonly Pool[];
  readonly #rules: ConnectionRules;
  readonly #madeMs = new WeakMap<object, number>();
  #current = 0;
  #distrustedMs = Number.NEGATIVE_INFINITY;

  constructor({ hosts, mustWrite }: PostgresAddress, rules: ConnectionRules, options: PoolConfig) {
    this.#pools = hosts.map((host) =>
      this.#openPool({ ...host, ...options, ...(mustWrite && { verify: checkWritable }) }),
    );
    this.#rules = rules;
  }

  /**
   * @throws when no usable server can be reached: the reason of the only one, or the reasons of
   *   all.
   */
  async connect(): Promise<PostgresPoolClient> {
    const problems: unknown[] = [];
    const inOrder = [...this.#pools.slice(this.#current), ...this.#pools.slice(0, this.#current)];
    for (const pool of inOrder) {
      try {
        const client = await this.#trustedClient(pool);
        this.#current = this.#pools.indexOf(pool);
        return new PostgresConnection(client, this.#rules, () => this.#distrustConnections());
      } catch (thrown) {
        problems.push(thrown);
      }
    }
    this.#rules.onUsed?.(false);
    const isAway = problems.every((problem) => !isAnswer(problem) || isServerGone(problem));
    if (problems.length === 1) throw noted(problems[0], isAway);
    const texts = inOrder.map((pool, index) => {
      const problem = problems[index];
      return `${nameOf(pool.options)}: ${problem instanceof Error ? problem.message : String(problem)}`;
    });
    throw noted(new AggregateError(problems, texts.join('; ')), isAway);
  }

  async end(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()));
  }

  /** Discards existing connections: their server is shutting down or no longer accepts writes. */
  #distrustConnections(): void {
    this.#distrustedMs = monotonicMs();
  }

  #openPool(config: PoolConfig): Pool {
    const pool = new Pool(config);
    // The pool replaces a connection that breaks while idle; the next query shows whether that
    // works.
    pool.on('error', ignore).on('connect', (client) => {
      this.#madeMs.set(client, monotonicMs());
      client.on('error', ignore);
    });
    return pool;
  }

  async #trustedClient(pool: Pool): Promise<PoolClient> {
    for (;;) {
      const client = await pool.connect();
      if ((this.#madeMs.get(client) ?? 0) > this.#distrustedMs) return client;
      client.release(true);
    }
  }
}

/**
 * A connection that is discarded once it can't be trusted: the next query would wait behind an
 * overdue answer.
 *
 * Time limits can't be settings of a session, because PgBouncer shares sessions. They are settings
 * of each transaction, so that the server also cancels a transaction whose client is gone. A single
 * statement gets a transaction of its own.
 */
class PostgresConnection implements PostgresPoolClient {
  readonly #client: PoolClient;
  readonly #rules: ConnectionRules;
  readonly #onServerGone: () => void;
  #inTransaction = false;
  #isGivenUp = false;

  constructor(client: PoolClient, rules: ConnectionRules, onServerGone: () => void) {
    this.#client = client;
    this.#rules = rules;
    this.#onServerGone = onServerGone;
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
    // A statement sent now would wait behind the overdue answer, or reach a server that is shutting
    // down.
    if (this.#isGivenUp)
      throw noted(new Error('The connection was closed after a statement timeout or a shutdown of the server.'), true);
    // The statements with which Kysely begins and ends transactions.
    if (sql === 'begin' || sql.startsWith('start transaction')) return await this.#begin(sql);
    // Postgres accepts concurrent operations, such as CREATE INDEX CONCURRENTLY, only outside
    // transactions.
    const isAlone = !this.#inTransaction && this.#rules.statementTimeoutMs > 0 && !sql.endsWith(' concurrently');
    if (sql === 'commit' || sql === 'rollback') this.#inTransaction = false;
    return isAlone ? await this.#sendInTransaction(sql, parameters) : await this.#send(sql, parameters);
  }

  /** Begins a transaction and sets its time limits in the same message. */
  async #begin(sql: string): Promise<unknown> {
    const limitMs = this.#rules.statementTimeoutMs;
    const idleLimitMs = limitMs === 0 ? 0 : limitMs + answerGraceMs;
    const begun = await this.#send(
      `${sql}; set local statement_timeout = ${limitMs}; set local idle_in_transaction_session_timeout = ${idleLimitMs}`,
      [],
    );
    this.#inTransaction = true;
    // There is one result for each of the three statements.
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
      const result: unknown = await this.#client.query(sql, [...parameters]);
      this.#rules.onUsed?.(true);
      return result;
    } catch (thrown) {
      this.#rules.onUsed?.(isAnswer(thrown) && !isServerGone(thrown));
      if (isServerGone(thrown)) {
        this.#isGivenUp = true;
        this.#onServerGone();
      }
      throw noted(thrown, !isAnswer(thrown) || isServerGone(thrown) || isBusy(thrown));
    }
  }
}

/** Lets callers find out that no usable server answers. */
function noted(thrown: unknown, isAway: boolean): unknown {
  if (isAway) noteNoAnswer(thrown);
  return thrown;
}

/**
 * True when the server does not answer, is starting or shutting down, or no longer accepts writes:
 * read_only_sql_transaction, admin_shutdown, crash_shutdown, cannot_connect_now.
 */
function isServerGone(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (thrown.message === 'Query read timeout') return true;
  return 'code' in thrown && ['25006', '57P01', '57P02', '57P03'].includes(String(thrown.code));
}

/**
 * True when the server had no time or no connection for a statement, or gave way to another one:
 * query_canceled, too_many_connections, serialization_failure, deadlock_detected or
 * lock_not_available.
 */
function isBusy(thrown: unknown): boolean {
  if (!(thrown instanceof Error && 'code' in thrown)) return false;
  return ['57014', '53300', '40001', '40P01', '55P03'].includes(String(thrown.code));
}

/**
 * True when the server itself reported the failure of a statement. A connection error has no
 * severity.
 */
function isAnswer(thrown: unknown): boolean {
  return thrown instanceof Error && 'severity' in thrown && thrown.severity !== undefined;
}

/**
 * Checks a new connection, as libpq does for `target_session_attrs=read-write`: a standby is
 * refused until it is promoted.
 */
function checkWritable(client: PoolClient, done: (problem?: Error) => void): void {
  const question = { text: 'show transaction_read_only', query_timeout: 3_000 };
  client.query<{ transaction_read_only: string }>(question).then(
    ({ rows: [row] }) => done(row?.transaction_read_only === 'off' ? undefined : new Error('accepts no writes')),
    (thrown: unknown) => done(thrown instanceof Error ? thrown : new Error(String(thrown))),
  );
}

function nameOf({ host, port }: ClientConfig): string {
  return `${host || 'localhost'}:${port ?? 5432}`;
}

function ignore(): void {}
