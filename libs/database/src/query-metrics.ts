import { errorTypeOf, type Metrics } from '@gateway/telemetry';
import type { LogEvent } from 'kysely';

/** Measures every statement, as Kysely logs it. @see https://opentelemetry.io/docs/specs/semconv/db/database-metrics/ */
export function measureQueries(metrics: Metrics, system: 'postgresql' | 'sqlite'): (event: LogEvent) => void {
  const durations = metrics.histogram({
    name: 'db_client_operation_duration_seconds',
    help: 'Time that statements and commands of databases took, connections not included.',
    labels: ['db_system_name', 'db_operation_name', 'error_type'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
  });
  return (event) => {
    const operation = operationOf(event.query.sql);
    if (operation === undefined) return;
    const error_type = event.level === 'error' ? errorTypeOf(event.error) : '';
    const labels = { db_system_name: system, db_operation_name: operation, error_type };
    durations.observe(labels, event.queryDurationMillis / 1_000);
  };
}

/** Undefined for what begins and ends transactions, and for what changes tables. */
function operationOf(statement: string): string | undefined {
  const word = /^\s*(select|insert|update|delete|with)\b/i.exec(statement)?.[1]?.toLowerCase();
  return word === 'with' ? 'select' : word;
}
