import { createHash } from 'node:crypto';
import { activeSpan, backendUp, databaseOperations, inSpan, type Metrics, SpanKind } from '@gateway/telemetry';
import { cancelTimer, monotonicMs, startImmediate, startInterval } from '@gateway/time';
import type { Cluster, Redis } from 'ioredis';

/** Runs one operation in Redis, under the name of its script or command that operators see. */
export type RedisOperation = <T>(name: string, call: () => Promise<T>) => Promise<T>;

/** Measures Redis operations, and adds a span for each to requests that are traced. */
export function redisOperations(metrics: Metrics): RedisOperation {
  const measure = databaseOperations(metrics, 'redis');
  const isUp = backendUp(metrics, 'redis');

  async function measured<T>(name: string, call: () => Promise<T>): Promise<T> {
    const startedMs = monotonicMs();
    let errorType = '';
    try {
      return await call();
    } catch (thrown) {
      errorType = errorTypeOf(thrown);
      throw thrown;
    } finally {
      isUp(errorType !== timedOut && errorType !== unreachable);
      measure({ name, seconds: (monotonicMs() - startedMs) / 1_000, errorType });
    }
  }

  return (name, call) => {
    // Without a traced request, each operation would be a trace of its own.
    if (!activeSpan()?.isRecording()) return measured(name, call);
    const attributes = { 'db.system.name': 'redis', 'db.operation.name': name };
    return inSpan(name, { kind: SpanKind.CLIENT, attributes }, () => measured(name, call));
  };
}

/** An error code of Redis, such as "OOM", or why there was no answer: few values. */
function errorTypeOf(thrown: unknown): string {
  if (thrown instanceof RedisTimeoutError) return timedOut;
  if (!(thrown instanceof Error && thrown.name === 'ReplyError')) return unreachable;
  return /^[A-Z]+(?= )/.exec(thrown.message)?.[0] ?? 'ERR';
}

const timedOut = 'timeout';
const unreachable = 'unreachable';

type Script = ReturnType<typeof scriptOf>;

export function scriptOf(lua: string) {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/**
 * Runs a script that Redis, or any node of a cluster, may have forgotten. In a cluster its keys
 * must share a hash tag.
 */
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
    // The script did not run. EVAL sends its text, after which the server knows it.
    return redis.eval(lua, keys.length, ...keys, ...terms);
  }
}

/**
 * Fails when `work` takes too long, counted in turns of this process: one that was paused or
 * starved would report an outage that did not happen. For the same reason the driver's own
 * `commandTimeout` is not used.
 */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let leftTicks = Math.ceil(timeoutMs / tickMs);
    const tick = () => {
      leftTicks -= 1;
      if (leftTicks <= 0) reject(new RedisTimeoutError());
    };
    // The network is read between a timer and the `setImmediate` that it schedules.
    const timer = startInterval(() => startImmediate(tick), Math.min(tickMs, timeoutMs));
    work.then(resolve, reject).finally(() => cancelTimer(timer));
  });
}

const tickMs = 250;

export class RedisTimeoutError extends Error {
  override readonly name = 'RedisTimeoutError';

  constructor() {
    super('Redis did not answer in time.');
  }
}
