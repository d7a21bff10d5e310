import { once } from 'node:events';
import { connect, type NetConnectOpts, Socket } from 'node:net';
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';

/** How much longer than a statement may take its answer is waited for, before the connection counts as dead. */
export const answerGraceMs = 2_000;

/**
 * A pool whose statements end in time, and that gives up connections which can't be trusted any more. A connection whose
 * answer is overdue would make the next query wait behind that answer, and one that breaks between two queries would end the
 * process.
 *
 * Limits can't be settings of a session: behind PgBouncer a session is shared with others. Inside a transaction they are
 * settings of that transaction, so that the server ends one whose client is gone; a statement on its own is cancelled from here.
 */
export class PostgresConnections implements PostgresPool {
  readonly #pool: Pool;
  readonly #statementTimeoutMs: number;

  /** @param statementTimeoutMs 0: no limit. */
  constructor(pool: Pool, statementTimeoutMs: number) {
    this.#pool = pool;
    this.#statementTimeoutMs = statementTimeoutMs;
    // A connection that breaks while idle is replaced by the pool; the next query sees whether that works.
    pool.on('error', ignore);
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
    client.on('error', ignore);
  }

  query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query(sqlOrCursor: unknown, parameters: readonly unknown[] = []): unknown {
    if (typeof sqlOrCursor !== 'string') throw new TypeError('Cursors are not used here.');
    return this.#query(sqlOrCursor, parameters);
  }

  release(destroy = false): void {
    this.#client.off('error', ignore);
    this.#client.release(destroy || this.#overdue);
  }

  async #query(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    // What is sent now would wait behind the overdue answer, or meet the cancellation that was meant for it.
    if (this.#overdue) throw new Error('The connection was given up after a statement timeout.');
    if (isBeginning(sql)) return await this.#begin(sql);
    if (isEnd(sql)) this.#inTransaction = false;
    return this.#inTransaction || this.#statementTimeoutMs === 0
      ? await this.#send(sql, parameters)
      : await this.#sendInTime(sql, parameters);
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

  /** The server ends no statement outside a transaction by itself: it is asked to. */
  async #sendInTime(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    let cancelled: Promise<void> | undefined;
    const timer = setTimeout(() => {
      this.#overdue = true;
      cancelled = cancelStatement(this.#client);
    }, this.#statementTimeoutMs);
    try {
      return await this.#send(sql, parameters);
    } catch (thrown) {
      if (cancelled === undefined) throw thrown;
      throw new Error(`statement timeout: it took longer than ${this.#statementTimeoutMs} ms`, { cause: thrown });
    } finally {
      clearTimeout(timer);
      // Closing the connection first would let a pooler forget which statement is meant.
      await cancelled;
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

/** As Kysely begins and ends transactions. */
function isBeginning(sql: string): boolean {
  return sql === 'begin' || sql.startsWith('start transaction');
}

function isEnd(sql: string): boolean {
  return sql === 'commit' || sql === 'rollback';
}

function ignore(): void {}

/** How long the server may take to take the request. */
const cancelTimeoutMs = 1_000;

/**
 * Asks the server to end what a connection is doing. Resolves when it has taken the request, or is not going to; never rejects.
 * The request goes over a connection of its own, without TLS, as libpq sends it; a pooler passes it on to the right server.
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 */
export async function cancelStatement(client: PoolClient): Promise<void> {
  const request = cancelRequest(client);
  if (request === undefined) return;
  const socket = connect(addressOf(client), () => socket.write(request));
  socket.on('error', ignore).resume();
  await once(socket, 'close', { signal: AbortSignal.timeout(cancelTimeoutMs) }).catch(ignore);
  socket.destroy();
}

/** Undefined for a connection that the server has given no key to. */
function cancelRequest(client: PoolClient): Buffer | undefined {
  const { processID, secretKey } = client as { readonly processID?: unknown; readonly secretKey?: unknown };
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return undefined;
  const request = Buffer.alloc(16);
  for (const [index, word] of [request.length, cancelRequestCode, processID, secretKey].entries()) {
    request.writeInt32BE(word, index * 4);
  }
  return request;
}

const cancelRequestCode = (1234 << 16) | 5678;

/** The very server that the connection leads to: its name may stand for several. */
function addressOf({ host, port, connection }: PoolClient): NetConnectOpts {
  if (host.startsWith('/')) return { path: `${host}/.s.PGSQL.${port}` };
  const { stream } = connection;
  const connected = stream instanceof Socket ? stream : undefined;
  return { host: connected?.remoteAddress ?? host, port: connected?.remotePort ?? port };
}
