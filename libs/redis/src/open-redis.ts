import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { monotonicMs, sleep } from '@gateway/time';
import { Cluster, type ClusterNode, type ClusterOptions, Redis, type RedisOptions as ServerOptions } from 'ioredis';
import { RedisTimeoutError, within } from './operations.ts';
import type { RedisSettings, RedisTlsFiles } from './redis-settings.ts';

export interface RedisOptions {
  readonly settings: RedisSettings;
  /**
   * How long a server may give no sign of life before its connection is closed. A command has no
   * deadline of its own: servers answer in order, so whatever the answer to a later one is, a slow
   * answer comes.
   */
  readonly silentMs?: number;
  /**
   * Whether every command may run twice. If so, commands wait for a connection and are sent again
   * when it breaks. Otherwise a command fails at once without a connection, or when it breaks, and
   * is never sent twice.
   */
  readonly isRepeatable: boolean;
  /** Called with the reason why connections fail, at most once a minute for each reason. */
  readonly onFault?: (reason: string) => void;
}

/** How long connecting may take. */
export const connectTimeoutMs = 5_000;

const usualSilentMs = 2_000;

/**
 * A connection that `connect` opens and that reconnects forever: to one server, to the master that
 * Sentinels name, or to the masters of a Redis Cluster.
 */
export function openRedis(options: RedisOptions): Redis | Cluster {
  const redis = options.settings.place.kind === 'cluster' ? openCluster(options) : openServer(options);
  const report = reporterOf(options.onFault);
  const { silentMs = usualSilentMs } = options;
  redis.on('error', report);
  if (redis instanceof Cluster) {
    redis.on('node error', report);
    redis.on('+node', (node: Redis) => reconnectWhenSilent(node, { silentMs, report }));
  } else reconnectWhenSilent(redis, { silentMs, report });
  return redis;
}

/**
 * Reconnects when the server does not answer, because the network may have dropped the connection
 * without notice. The driver's own `socketTimeout` would also break a connection whose answers
 * arrived while this process was paused; see `within`.
 */
function reconnectWhenSilent(redis: Redis, { silentMs, report }: Silence): void {
  redis.on('connect', () => {
    const closed = new AbortController();
    redis.once('close', () => closed.abort());
    void reconnectOnSilence(closed.signal);
  });

  async function reconnectOnSilence(closed: AbortSignal): Promise<void> {
    while (!closed.aborted) {
      try {
        if (redis.status !== 'ready') await within(silentMs, once(redis, 'ready', { signal: closed }));
        await sleep(silentMs / 4, { signal: closed, ref: false });
        await within(silentMs, redis.ping());
      } catch (thrown) {
        if (closed.aborted || !(thrown instanceof RedisTimeoutError)) continue;
        report(new Error(`Redis sent no answer for ${silentMs} ms.`));
        failAtOnce(redis);
        redis.disconnect(true);
      }
    }
  }
}

/**
 * Until a server answers again, commands fail instead of being sent again: callers decide without
 * it.
 */
function failAtOnce(redis: Redis): void {
  const { maxRetriesPerRequest } = redis.options;
  redis.options.maxRetriesPerRequest = 0;
  if (maxRetriesPerRequest !== 0) redis.once('ready', () => Object.assign(redis.options, { maxRetriesPerRequest }));
}

interface Silence {
  readonly silentMs: number;
  readonly report: (reason: Error) => void;
}

/** The driver reports every connection attempt, and there are many. */
function reporterOf(onFault: RedisOptions['onFault']) {
  const reportedMs = new Map<string, number>();
  return ({ message, code = '' }: NodeJS.ErrnoException) => {
    const reason = message || code;
    const nowMs = monotonicMs();
    if (nowMs - (reportedMs.get(reason) ?? Number.NEGATIVE_INFINITY) < 60_000) return;
    reportedMs.set(reason, nowMs);
    onFault?.(reason);
  };
}

/**
 * Calls the listener whenever another server may have taken over and lack the latest writes: after
 * a connection broke. The commands before and after need not show any sign of it.
 */
export function onReconnected(redis: Redis | Cluster, listener: () => void): void {
  if (redis instanceof Cluster) {
    redis.on('-node', (node: Redis) => {
      if (!node.options.readOnly) listener();
    });
  } else redis.once('ready', () => redis.on('ready', listener));
}

/** Commands of one turn of the event loop are sent together. */
function openServer({ settings, isRepeatable }: RedisOptions): Redis {
  const { place, tls } = settings;
  const options: DriverOptions = {
    ...connectionOptions(settings),
    lazyConnect: true,
    enableAutoPipelining: true,
    retryStrategy: retryAfterMs,
    maxRetriesPerRequest: isRepeatable ? 1 : 0,
    enableOfflineQueue: isRepeatable,
    autoResendUnfulfilledCommands: isRepeatable,
    // After a failover the old master answers as a read-only replica, or has lost its replicas.
    // Reconnecting by the address, or by a Sentinel, leads to the new master.
    reconnectOnError: ({ message }) => /^(READONLY|NOREPLICAS) /.test(message),
    ...(place.kind !== 'cluster' && { db: place.database }),
  };
  if (place.kind === 'sentinel') {
    const { servers, masterName: name, sentinelPassword } = place;
    Object.assign(options, {
      sentinels: [...servers],
      name,
      ...(sentinelPassword && { sentinelPassword: sentinelPassword.reveal() }),
      ...(tls && { sentinelTLS: options.tls, enableTLSForSentinelMode: true }),
      // Otherwise commands would wait until a Sentinel answers.
      sentinelRetryStrategy: () => null,
      sentinelCommandTimeout: 1_000,
    } satisfies DriverOptions);
  } else Object.assign(options, place.servers[0]);
  return new PersistentRedis(options);
}

/**
 * Commands are sent one by one, because the driver's pipelines can't follow a moved slot when they
 * hold commands for several slots. A command that did not run, or that is repeatable, is retried
 * only briefly: callers work without Redis until a lost master is replaced.
 */
function openCluster({ settings, isRepeatable }: RedisOptions): Cluster {
  const options: DriverClusterOptions = {
    lazyConnect: true,
    clusterRetryStrategy: retryAfterMs,
    maxRedirections: 8,
    retryDelayOnFailover: isRepeatable ? 20 : 0,
    retryDelayOnClusterDown: 20,
    slotsRefreshTimeout: 1_000,
    slotsRefreshInterval: 5_000,
    // Certificates contain names, so names must not be replaced by addresses.
    dnsLookup: (hostname, callback) => callback(null, hostname),
    redisOptions: connectionOptions(settings),
  };
  const cluster = new ReadyCluster([...settings.place.servers], options);
  // Otherwise the first command to a node would wait for its connection, and others would fail in
  // the meantime.
  cluster.on('+node', (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => undefined);
  });
  return cluster;
}

/** Replies have the driver's default format. */
type DriverOptions = Omit<ServerOptions, 'replyMapping'>;
type DriverClusterOptions = Omit<ClusterOptions, 'redisOptions'> & {
  redisOptions: ReturnType<typeof connectionOptions>;
};

function retryAfterMs(attempt: number): number {
  return Math.min(20 * attempt, 500);
}

/** Options for each server that holds data. */
function connectionOptions({ username, password, tls }: RedisSettings) {
  return {
    connectTimeout: connectTimeoutMs,
    // A silent server does not take part in the end of its connection.
    disconnectTimeout: 100,
    ...(password && { username, password: password.reveal() }),
    ...(tls && { tls: tlsOptions(tls) }),
  } satisfies DriverOptions;
}

/**
 * The driver calls this for every connection, so that replaced files take effect with the next one.
 */
function tlsOptions({ caFile, certFile, keyFile }: RedisTlsFiles) {
  const [ca, cert, key] = [caFile, certFile, keyFile].map(latestTextOf);
  return {
    get ca() {
      return ca?.();
    },
    get cert() {
      return cert?.();
    },
    get key() {
      return key?.();
    },
  };
}

function latestTextOf(path: string | undefined): (() => string) | undefined {
  if (path === undefined) return undefined;
  let text = readFileSync(path, 'utf8');
  return () => {
    try {
      text = readFileSync(path, 'utf8');
    } catch {
      // The file is being replaced.
    }
    return text;
  };
}

/** Reconnects also when no Sentinel named a server. */
class PersistentRedis extends Redis {
  #isClosed = false;
  #attempts = 0;
  /** What the connection before this one has not answered, and this one sends again once ready. */
  #unanswered: Redis['commandQueue'] | undefined;

  constructor(options: DriverOptions) {
    super(options);
    // The driver forgets these commands if the connection is accepted and ends before it is ready.
    this.on('close', () => {
      while (this.#unanswered?.length) this.#unanswered.shift()?.command.reject(new Error('The connection is closed.'));
      this.#unanswered = this.commandQueue;
    });
    this.on('ready', () => {
      this.#attempts = 0;
    });
    this.on('end', async () => {
      if (!this.#isClosed) await sleep(retryAfterMs(++this.#attempts), { ref: false });
      if (!this.#isClosed) this.connect().catch(() => undefined);
    });
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) this.#isClosed = true;
    super.disconnect(reconnect);
  }
}

/** Fails commands at once while there is no cluster. */
class ReadyCluster extends Cluster {
  constructor(nodes: ClusterNode[], options: DriverClusterOptions) {
    super(nodes, options);
  }

  override sendCommand(...[command, ...rest]: Parameters<Cluster['sendCommand']>): unknown {
    // Callers' commands must not wait while there is no cluster; the driver's own `cluster` command
    // establishes it.
    if (this.status !== 'ready' && command.name !== 'cluster') {
      command.reject(new Error('No Redis Cluster is connected.'));
      return command.promise;
    }
    return super.sendCommand(command, ...rest);
  }

  /** A command that was to be retried must not wait either when the cluster is lost meanwhile. */
  override handleError(...[error, ttl, handlers]: Parameters<Cluster['handleError']>): void {
    const orFail = (retry: () => void) => () => (this.status === 'ready' ? retry() : handlers.defaults());
    const [tryagain, connectionClosed] = [handlers.tryagain, handlers.connectionClosed].map(orFail);
    super.handleError(error, ttl, { ...handlers, tryagain, connectionClosed });
  }
}
