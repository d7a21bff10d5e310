import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';

/**
 * A pool that gives up connections which can't be trusted any more. A connection whose answer is overdue would make
 * the next query wait behind that answer, and one that breaks between two queries would end the process.
 */
export class PostgresConnections implements PostgresPool {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
    // A connection that breaks while idle is replaced by the pool; whoever queries next sees whether that works.
    pool.on('error', ignore);
  }

  get options(): object {
    return this.#pool.options;
  }

  async connect(): Promise<PostgresPoolClient> {
    return new PostgresConnection(await this.#pool.connect());
  }

  end(): Promise<void> {
    return this.#pool.end();
  }
}

class PostgresConnection implements PostgresPoolClient {
  readonly #client: PoolClient;
  #overdue = false;

  constructor(client: PoolClient) {
    this.#client = client;
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
    try {
      return await this.#client.query(sql, [...parameters]);
    } catch (thrown) {
      this.#overdue ||= thrown instanceof Error && thrown.message === 'Query read timeout';
      throw thrown;
    }
  }
}

function ignore(): void {}
