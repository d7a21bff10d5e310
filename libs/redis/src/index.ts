import { createHash } from 'node:crypto';
import { Cluster, type Command, type RedisOptions as DriverOptions, Redis } from 'ioredis';

export interface RedisOptions {
  /** redis:// or rediss:// */
  readonly url: string;
  /** Whether that is a node of a Redis Cluster. */
  readonly isCluster?: boolean;
  /** How long Redis may take to answer. */
  readonly timeoutMs: number;
  /**
   * Whether every command may be done twice. Then commands wait for a connection, and are sent again when it breaks; callers bound
   * their calls by `within`. Else a command fails at once without a connection, or when it is not answered in time, and is never
   * sent twice.
   */
  readonly isRepeatable: boolean;
}

/** How long a connection may take to be made. */
export const connectTimeoutMs = 2_000;

/** A connection that is made by `connect`, and made again for ever. What is called in one turn of the event loop is sent together. */
export function openRedis(options: RedisOptions & { readonly isCluster?: false }): Redis;
export function openRedis(options: RedisOptions): Redis | Cluster;
export function openRedis({ url, isCluster, timeoutMs, isRepeatable }: RedisOptions) {
  const retryAfterMs = (attempt: number) => Math.min(20 * attempt, 500);
  const node: DriverOptions = {
    connectTimeout: connectTimeoutMs,
    maxRetriesPerRequest: isRepeatable ? 1 : 0,
    enableOfflineQueue: isRepeatable,
    autoResendUnfulfilledCommands: isRepeatable,
    // A connection that went silent is dropped: the network may have lost it without a word.
    socketTimeout: Math.max(1_000, 5 * timeoutMs),
    // After a failover the old primary answers as a read-only replica: the address leads to the new one.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  };
  const both = { lazyConnect: true, enableAutoPipelining: true };
  const alone = { ...node, ...both, retryStrategy: retryAfterMs };
  const redisOptions = { ...node, ...credentialsOf(new URL(url)) };
  const open = () => (isRepeatable ? new Redis(url, alone) : new TimedRedis(timeoutMs, url, alone));
  const redis = isCluster ? new Cluster([url], { ...both, clusterRetryStrategy: retryAfterMs, redisOptions }) : open();
  // Each command reports the fault to its caller; without a listener the driver would print it as well.
  redis.on('error', () => undefined);
  return redis;
}

/** A cluster takes these for all of its nodes, and not from the URL of the first. */
function credentialsOf({ username, password, protocol }: URL): DriverOptions {
  return {
    ...(password && { username: decodeURIComponent(username), password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
  };
}

/** Gives a command up when Redis has not answered it in time. */
class TimedRedis extends Redis {
  readonly #timeoutMs: number;

  constructor(timeoutMs: number, url: string, options: Omit<DriverOptions, 'replyMapping'>) {
    super(url, options);
    this.#timeoutMs = timeoutMs;
  }

  override sendCommand(command: Command, stream?: Parameters<Redis['sendCommand']>[1]): unknown {
    within(this.#timeoutMs, command.promise).catch((thrown: Error) => command.reject(thrown));
    return super.sendCommand(command, stream);
  }
}

/**
 * Fails when something is not done in time. The driver's own `commandTimeout` would also give up an answer that arrived while this
 * process was stopped or busy, as timers run before the network is read: it would report an outage that there was none of.
 */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error('Redis did not answer in time.'));
    // The network is read between a timer and the "immediate" that it leaves.
    const timer = setTimeout(() => setImmediate(giveUp), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export interface Script {
  readonly lua: string;
  readonly sha: string;
}

export function scriptOf(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/** Runs a script that Redis may have forgotten, at any time. In a cluster its keys have one hash tag. */
export async function runScript(
  redis: Redis | Cluster,
  { lua, sha }: Script,
  keys: readonly string[],
  terms: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...terms);
  } catch (thrown) {
    if (!(thrown instanceof Error && thrown.message.startsWith('NOSCRIPT'))) throw thrown;
    // Nothing was done. With its text it runs, and is known from then on.
    return redis.eval(lua, keys.length, ...keys, ...terms);
  }
}
