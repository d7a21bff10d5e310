import { type Command, Redis } from 'ioredis';

/**
 * Opens a connection that fails fast and never runs a command twice: nothing is queued while Redis is away, nothing is sent
 * again after a break. It reconnects for ever. Resolves when connected, or after the first failed try.
 */
export async function openRedisConnection(url: string, commandTimeoutMs: number): Promise<Redis> {
  const redis = new TimedRedis(url, commandTimeoutMs);
  // Each command reports the fault to its caller; without a listener ioredis would print it as well.
  redis.on('error', () => undefined);
  await redis.connect().catch(() => undefined);
  return redis;
}

/**
 * Gives a command up when Redis has not answered it in time. ioredis' own `commandTimeout` would also give up an answer that
 * arrived while this process was stopped or busy, and report an outage that there was none of: timers run before the network is read.
 */
class TimedRedis extends Redis {
  readonly #commandTimeoutMs: number;

  constructor(url: string, commandTimeoutMs: number) {
    super(url, {
      lazyConnect: true,
      enableAutoPipelining: true,
      connectTimeout: 1_000,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 5), 1_000),
    });
    this.#commandTimeoutMs = commandTimeoutMs;
  }

  override sendCommand(command: Command, stream?: Parameters<Redis['sendCommand']>[1]): unknown {
    const giveUp = () => command.reject(new Error('Redis did not answer in time.'));
    // The network is read between a timer and the "immediate" that it leaves.
    const timer = setTimeout(() => setImmediate(giveUp), this.#commandTimeoutMs);
    const onSettled = () => clearTimeout(timer);
    command.promise.then(onSettled, onSettled);
    return super.sendCommand(command, stream);
  }
}
