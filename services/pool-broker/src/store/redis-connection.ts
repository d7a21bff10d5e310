import { type Command, Redis } from 'ioredis';

/**
 * Opens a connection that fails fast and never runs a command twice by itself: nothing is queued while Redis is away, nothing
 * is sent again after a break. It reconnects for ever. Resolves when connected, or after the first failed try.
 */
export async function openRedisConnection(url: string, commandTimeoutMs: number): Promise<Redis> {
  const redis = new FairlyTimedRedis(url, commandTimeoutMs);
  // Each command reports the fault to its caller; without a listener ioredis would print it as well.
  redis.on('error', () => undefined);
  await redis.connect().catch(() => undefined);
  return redis;
}

/**
 * Gives a command up when Redis has not answered it in time. An answer that came while this very process stood still is an
 * answer in time: when a process wakes, its timers come before the network, and would tell of an outage that there was none of.
 */
class FairlyTimedRedis extends Redis {
  readonly #commandTimeoutMs: number;

  constructor(url: string, commandTimeoutMs: number) {
    super(url, {
      lazyConnect: true,
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
    // Between a timer and what it leaves for "immediately" after, everything is read that the network has brought.
    const timer = setTimeout(() => setImmediate(giveUp), this.#commandTimeoutMs);
    const onSettled = () => clearTimeout(timer);
    command.promise.then(onSettled, onSettled);
    return super.sendCommand(command, stream);
  }
}
