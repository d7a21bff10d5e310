import { Redis } from 'ioredis';

/**
 * Opens a connection that fails fast and never runs a command twice by itself: nothing is queued while Redis is away, nothing
 * is sent again after a break. It reconnects for ever. Resolves when connected, or after the first failed try.
 */
export async function openRedisConnection(url: string, commandTimeoutMs: number): Promise<Redis> {
  const redis = new Redis(url, {
    lazyConnect: true,
    // Commands of a tick travel together: writing each by itself costs more than the command.
    enableAutoPipelining: true,
    connectTimeout: 1_000,
    commandTimeout: commandTimeoutMs,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 5), 1_000),
  });
  // Each command reports the fault to its caller; without a listener ioredis would print it as well.
  redis.on('error', () => undefined);
  await redis.connect().catch(() => undefined);
  return redis;
}
