import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Cluster,
  type ClusterNode,
  type ClusterOptions,
  type Command,
  Redis,
  type RedisOptions as ServerOptions,
} from 'ioredis';
import { within } from './operations.ts';
import type { RedisSettings, RedisTlsFiles } from './redis-settings.ts';

export interface RedisOptions {
  readonly settings: RedisSettings;
  /** How long Redis may take to answer. */
  readonly timeoutMs: number;
  /**
   * Whether every command may be done twice. Then commands wait a while for a connection, and are sent again when it breaks; callers
   * bound their calls by `within`. Else a command fails at once without a connection, or when it is not answered in time, and is
   * never sent twice.
   */
  readonly isRepeatable: boolean;
  /** Receives the reason why connections fail, each once a minute at most. */
  readonly onFault?: ((reason: string) => void) | undefined;
}

/** How long a connection may take to be made. */
export const connectTimeoutMs = 2_000;

/**
 * A connection that is made by `connect`, and made again for ever: to one server, to the master that Sentinels name, or to the
 * masters of a Redis Cluster.
 */
export function openRedis(options: RedisOptions): Redis | Cluster {
  const redis = options.settings.place.kind === 'cluster' ? openCluster(options) : openServer(options);
  const report = reporterOf(options.onFault);
  redis.on('error', report);
  if (redis instanceof Cluster) redis.on('node error', report);
  return redis;
}

/** The driver reports each attempt, of which there are many. */
function reporterOf(onFault: RedisOptions['onFault']) {
  const reportedMs = new Map<string, number>();
  return ({ message, code = '' }: NodeJS.ErrnoException) => {
    const reason = message || code;
    const nowMs = performance.now();
    if (nowMs - (reportedMs.get(reason) ?? Number.NEGATIVE_INFINITY) < 60_000) return;
    reportedMs.set(reason, nowMs);
    onFault?.(reason);
  };
}

/**
 * Calls back whenever a server may have taken the place of another, and lack what that one got last: after a connection broke.
 * Commands that came before and after may have noticed nothing.
 */
export function onReconnected(redis: Redis | Cluster, listener: () => void): void {
  if (redis instanceof Cluster) {
    redis.on('-node', (node: Redis) => {
      if (!node.options.readOnly) listener();
    });
  } else redis.once('ready', () => redis.on('ready', listener));
}

/** What is called in one turn of the event loop is sent together. */
function openServer({ settings, timeoutMs, isRepeatable }: RedisOptions): Redis {
  const { place, tls } = settings;
  const options: DriverOptions = {
    ...connectionOptions(settings, timeoutMs),
    lazyConnect: true,
    enableAutoPipelining: true,
    retryStrategy: retryAfterMs,
    maxRetriesPerRequest: isRepeatable ? 1 : 0,
    enableOfflineQueue: isRepeatable,
    autoResendUnfulfilledCommands: isRepeatable,
    // After a failover the old master answers as a read-only replica, or has no replicas any more: the address, or a Sentinel, leads
    // to the new one.
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
      // Without it, commands would wait for as long as no Sentinel answers.
      sentinelRetryStrategy: () => null,
      sentinelCommandTimeout: 1_000,
    } satisfies DriverOptions);
  } else Object.assign(options, place.servers[0]);
  return new PersistentRedis(options, isRepeatable ? undefined : timeoutMs);
}

/**
 * Commands are sent one by one: the driver's pipelines would not follow a slot that has moved when they hold commands for several.
 * One that was not done, or may be repeated, is tried again for a moment only: until a master that is gone is replaced, callers go
 * on without it.
 */
function openCluster({ settings, timeoutMs, isRepeatable }: RedisOptions): Cluster {
  const options: DriverClusterOptions = {
    lazyConnect: true,
    clusterRetryStrategy: retryAfterMs,
    maxRedirections: 8,
    retryDelayOnFailover: isRepeatable ? 20 : 0,
    retryDelayOnClusterDown: 20,
    slotsRefreshTimeout: 1_000,
    slotsRefreshInterval: 5_000,
    // Certificates are of names: they must not be replaced by addresses.
    dnsLookup: (hostname, callback) => callback(null, hostname),
    redisOptions: connectionOptions(settings, timeoutMs),
  };
  const cluster = new TimedCluster([...settings.place.servers], options, isRepeatable ? undefined : timeoutMs);
  // Else the first command to a node would wait for its connection, and others would fail meanwhile.
  cluster.on('+node', (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => undefined);
  });
  return cluster;
}

/** Replies in the form that is the driver's default. */
type DriverOptions = Omit<ServerOptions, 'replyMapping'>;
type DriverClusterOptions = Omit<ClusterOptions, 'redisOptions'> & {
  redisOptions: ReturnType<typeof connectionOptions>;
};

function retryAfterMs(attempt: number): number {
  return Math.min(20 * attempt, 500);
}

/** Of each server that holds data. */
function connectionOptions({ username, password, tls }: RedisSettings, timeoutMs: number) {
  return {
    connectTimeout: connectTimeoutMs,
    // A connection that went silent is dropped: the network may have lost it without a word.
    socketTimeout: Math.max(1_000, 5 * timeoutMs),
    ...(password && { username, password: password.reveal() }),
    ...(tls && { tls: tlsOptions(tls) }),
  } satisfies DriverOptions;
}

/** The driver reads these for every connection: files that were replaced count from the next one on. */
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
      // It is being replaced.
    }
    return text;
  };
}

/** Gives commands up that Redis has not answered in time, and connects again when no Sentinel could tell where to. */
class PersistentRedis extends Redis {
  readonly #timeoutMs: number | undefined;
  #isClosed = false;
  #attempts = 0;

  constructor(options: DriverOptions, timeoutMs: number | undefined) {
    super(options);
    this.#timeoutMs = timeoutMs;
    this.on('ready', () => {
      this.#attempts = 0;
    });
    this.on('end', async () => {
      if (!this.#isClosed) await sleep(retryAfterMs(++this.#attempts), undefined, { ref: false });
      if (!this.#isClosed) this.connect().catch(() => undefined);
    });
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) this.#isClosed = true;
    super.disconnect(reconnect);
  }

  override sendCommand(command: Command, stream?: Parameters<Redis['sendCommand']>[1]): unknown {
    limitTime(command, this.#timeoutMs);
    return super.sendCommand(command, stream);
  }
}

class TimedCluster extends Cluster {
  readonly #timeoutMs: number | undefined;

  constructor(nodes: ClusterNode[], options: DriverClusterOptions, timeoutMs: number | undefined) {
    super(nodes, options);
    this.#timeoutMs = timeoutMs;
  }

  override sendCommand(...[command, ...rest]: Parameters<Cluster['sendCommand']>): unknown {
    // What callers ask must not wait for as long as there is no cluster; the driver's own question makes it one.
    if (this.status !== 'ready' && command.name !== 'cluster') {
      command.reject(new Error('No Redis Cluster is connected.'));
      return command.promise;
    }
    limitTime(command, this.#timeoutMs);
    return super.sendCommand(command, ...rest);
  }
}

function limitTime(command: Command, timeoutMs: number | undefined): void {
  if (timeoutMs !== undefined) within(timeoutMs, command.promise).catch((thrown: Error) => command.reject(thrown));
}
