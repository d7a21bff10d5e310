import type { Metrics } from './metrics.ts';

export type Backend = 'redis' | 'postgres' | 'nats';

/**
 * Lets a store report whether its servers answered when last used:
 * `const isUp = backendUp(metrics, 'redis')`.
 */
export function backendUp(metrics: Metrics, backend: Backend): (isUp: boolean) => void {
  const gauge = metrics.gauge({
    name: 'gateway_backend_up',
    help: '1 if the server answered the last operation or check of this process, else 0.',
    labels: ['backend'],
  });
  return (isUp) => gauge.set({ backend }, isUp ? 1 : 0);
}

interface DatabaseOperation {
  /** The statement's first word, or the name of the script or command. */
  readonly name: string;
  readonly seconds: number;
  /** Empty on success. */
  readonly errorType: string;
}

/**
 * Lets a store report its database operations.
 * @see https://opentelemetry.io/docs/specs/semconv/db/database-metrics/
 */
export function databaseOperations(
  metrics: Metrics,
  system: 'redis' | 'postgresql' | 'sqlite',
): (operation: DatabaseOperation) => void {
  const durations = metrics.histogram({
    name: 'db_client_operation_duration_seconds',
    help: 'Duration of database operations. error_type: empty after a success.',
    labels: ['db_system_name', 'db_operation_name', 'error_type'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
  });
  return ({ name, seconds, errorType }) =>
    durations.observe({ db_system_name: system, db_operation_name: name, error_type: errorType }, seconds);
}
