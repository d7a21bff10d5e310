import { readFileSync } from 'node:fs';
import type { Logger } from '@gateway/telemetry';
import { Cluster, Redis } from 'ioredis';
import { reasonOf } from '../metrics.ts';

export interface RedisConnectionOptions {
  /** redis:// or rediss:// */
  readonly url: string;
  /** Whether that is a node of a Redis Cluster. */
  readonly isCluster?: boolean;
  /** How long a call may take, its repetition after a broken connection included. */
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** The driver, with a command for each script. */
export type LimitRedis = (Redis | Cluster) & Record<keyof typeof scripts, ScriptCommand>;

type ScriptCommand = (...keysAndTerms: readonly (string | number)[]) => Promise<unknown>;

/** All keys of one call have one hash tag: a cluster takes each script. */
const scripts = {
  /** Its first argument says how many keys it has. */
  admitRequests: readScript('admit.lua'),
  settleRequest: readScript('settle.lua', 3),
  reloadDay: readScript('reload-day.lua', 2),
  recordAdmissions: readScript('record-admissions.lua', 1),
  countReplicas: readScript('heartbeat.lua', 1),
};

/**
 * One Redis, or a cluster, whose calls end within a deadline. The driver sends what is called in one turn of the event loop together,
 * and sends it again when the connection breaks: calls must be repeatable.
 */
export class RedisConnection implements AsyncDisposable {
  readonly #redis: LimitRedis;
  readonly #options: RedisConnectionOptions;

  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    // The driver makes the commands of `scripts` when it is made; its types do not know them.
    this.#redis = openDriver(options) as LimitRedis;
    const log = (thrown: unknown) =>
      options.logger.debug({ reason: reasonOf(thrown) }, 'the connection to Redis failed');
    this.#redis.on('error', log);
  }

  get isCluster(): boolean {
    return this.#redis instanceof Cluster;
  }

  /** Connects. Fails when Redis is not there; the connection is tried further in the background. */
  async start(): Promise<void> {
    await within(startTimeoutMs, this.#redis.connect());
    const memory = await this.call((redis) => redis.info('memory')).catch(() => '');
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
    // Evicted keys are limits forgotten without a trace.
    if (policy !== undefined && policy !== 'noeviction') {
      const advice = 'Redis may evict limits when its memory is full: set maxmemory-policy noeviction';
      this.#options.logger.warn({ policy }, advice);
    }
  }

  call<T>(command: (redis: LimitRedis) => Promise<T>): Promise<T> {
    return within(this.#options.timeoutMs, command(this.#redis));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
  }
}

/** How long a start waits for Redis before it goes on without. */
const startTimeoutMs = 2_000;

function openDriver({ url, isCluster, timeoutMs }: RedisConnectionOptions): Redis | Cluster {
  const retryAfterMs = (attempt: number) => Math.min(20 * attempt, 500);
  const node = {
    connectTimeout: startTimeoutMs,
    // Calls that wait for a connection longer than this have failed already.
    maxRetriesPerRequest: 1,
    // A connection that went silent is dropped: the network may have lost it without a word.
    socketTimeout: Math.max(1_000, 5 * timeoutMs),
    // After a failover the old primary answers as a read-only replica: the address leads to the new one.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
  };
  const both = { lazyConnect: true, enableAutoPipelining: true, scripts };
  if (!isCluster) return new Redis(url, { ...node, ...both, retryStrategy: retryAfterMs });
  const { username, password, protocol } = new URL(url);
  const credentials = { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  return new Cluster([url], {
    ...both,
    clusterRetryStrategy: retryAfterMs,
    redisOptions: { ...node, ...(password && credentials), ...(protocol === 'rediss:' && { tls: {} }) },
  });
}

function readScript(file: string, numberOfKeys?: number) {
  const lua = ['shared.lua', file].map((name) => readFileSync(new URL(name, import.meta.url), 'utf8')).join('\n');
  return { lua, ...(numberOfKeys === undefined ? {} : { numberOfKeys }) };
}

/** The driver's own `commandTimeout` begins only when a call is sent, and runs out while an answer waits to be read. */
function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`no answer within ${timeoutMs} ms`));
    // When the event loop was held up, the answer may be there already: it is read first.
    const timer = setTimeout(() => setImmediate(late), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
