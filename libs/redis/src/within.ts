/**
 * Fails when something is not done in time. The driver's own `commandTimeout` would also give up an answer that arrived while this
 * process was stopped or busy, as timers run before the network is read: it would report an outage that there was none of.
 */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new RedisTimeoutError());
    // The network is read between a timer and the "immediate" that it leaves.
    const timer = setTimeout(() => setImmediate(giveUp), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export class RedisTimeoutError extends Error {
  override readonly name = 'RedisTimeoutError';

  constructor() {
    super('Redis did not answer in time.');
  }
}
