import { type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { PostgresAddress } from './database-url.ts';

/**
 * The servers of one database, of which one takes writes: connections are to that one, whichever it is by now. They are made when
 * needed. The server that took writes last is asked first.
 */
export class PostgresServers {
  readonly #pools: readonly Pool[];
  readonly #names: readonly string[];
  readonly #madeMs = new WeakMap<object, number>();
  #current = 0;
  #distrustedMs = Number.NEGATIVE_INFINITY;

  constructor({ hosts, mustWrite }: PostgresAddress, options: PoolConfig) {
    this.#pools = hosts.map((host) =>
      this.#openPool({ ...host, ...options, ...(mustWrite && { verify: checkWritable }) }),
    );
    this.#names = hosts.map(nameOf);
  }

  get options(): object {
    return this.#pools[this.#current]?.options ?? {};
  }

  /** @throws when no server can be reached that may be worked with: the reason of the only one, or those of all. */
  async connect(): Promise<PoolClient> {
    const problems: unknown[] = [];
    const first = this.#current;
    for (const offset of this.#pools.keys()) {
      const index = (first + offset) % this.#pools.length;
      try {
        const client = await this.#trustedClient(this.#pools[index]);
        this.#current = index;
        return client;
      } catch (thrown) {
        problems.push(thrown);
      }
    }
    if (problems.length === 1) throw problems[0];
    const texts = problems.map((problem, offset) => {
      const server = this.#names[(first + offset) % this.#names.length];
      return `${server}: ${problem instanceof Error ? problem.message : String(problem)}`;
    });
    throw new AggregateError(problems, texts.join('; '));
  }

  /** Connections that exist are given up: their server ends, or takes no writes any more. */
  distrustConnections(): void {
    this.#distrustedMs = performance.now();
  }

  async end(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()));
  }

  #openPool(config: PoolConfig): Pool {
    const pool = new Pool(config);
    // A connection that breaks while idle is replaced by the pool; the next query sees whether that works.
    pool.on('error', ignore).on('connect', (client) => {
      this.#madeMs.set(client, performance.now());
      client.on('error', ignore);
    });
    return pool;
  }

  async #trustedClient(pool: Pool | undefined): Promise<PoolClient> {
    if (pool === undefined) throw new Error('there is no server');
    for (;;) {
      const client = await pool.connect();
      if ((this.#madeMs.get(client) ?? 0) > this.#distrustedMs) return client;
      client.release(true);
    }
  }
}

/** Asks a new connection, as libpq does for `target_session_attrs=read-write`: a standby says no, until it is promoted. */
function checkWritable(client: PoolClient, done: (problem?: Error) => void): void {
  const question = { text: 'show transaction_read_only', query_timeout: 3_000 };
  client.query<{ transaction_read_only: string }>(question).then(
    ({ rows: [row] }) => done(row?.transaction_read_only === 'off' ? undefined : new Error('takes no writes')),
    (thrown: unknown) => done(thrown instanceof Error ? thrown : new Error(String(thrown))),
  );
}

function nameOf({ host, port }: ClientConfig): string {
  return `${host || 'localhost'}:${port ?? 5432}`;
}

function ignore(): void {}
