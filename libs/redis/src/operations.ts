import { activeSpan, backendUp, inSpan, type Metrics, SpanKind } from '@gateway/telemetry';
import { RedisTimeoutError } from './within.ts';

/** Does one thing in Redis, by the name of its script or command, as operators see it. */
export type RedisOperation = <T>(name: string, call: () => Promise<T>) => Promise<T>;

/** Measures what is done in Redis, and shows it as a span of each request that is traced. */
export function redisOperations(metrics: Metrics): RedisOperation {
  const durations = metrics.histogram({
    name: 'db_client_operation_duration_seconds',
    help: 'How long operations in databases took. db_operation_name: the script or command; error_type: empty when it was done.',
    labels: ['db_system_name', 'db_operation_name', 'error_type'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
  });
  const isUp = backendUp(metrics, 'redis');

  async function measured<T>(name: string, call: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    let errorType = '';
    try {
      return await call();
    } catch (thrown) {
      errorType = errorTypeOf(thrown);
      throw thrown;
    } finally {
      isUp(errorType !== timedOut && errorType !== unreachable);
      const labels = { db_system_name: 'redis', db_operation_name: name, error_type: errorType };
      durations.observe(labels, (performance.now() - startedMs) / 1_000);
    }
  }

  return (name, call) => {
    // What no traced request waits for would be traces of its own.
    if (!activeSpan()?.isRecording()) return measured(name, call);
    const attributes = { 'db.system.name': 'redis', 'db.operation.name': name };
    return inSpan(name, { kind: SpanKind.CLIENT, attributes }, () => measured(name, call));
  };
}

/** A code of Redis, such as "OOM", or why there was no answer: few values. */
function errorTypeOf(thrown: unknown): string {
  if (thrown instanceof RedisTimeoutError) return timedOut;
  if (!(thrown instanceof Error && thrown.name === 'ReplyError')) return unreachable;
  return /^[A-Z]+(?= )/.exec(thrown.message)?.[0] ?? 'ERR';
}

const timedOut = 'timeout';
const unreachable = 'unreachable';
