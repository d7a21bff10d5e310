import { databaseOperations, errorTypeOf, type Metrics } from '@gateway/telemetry';
import type { LogEvent } from 'kysely';

/** Measures every statement, as Kysely logs it. */
export function measureQueries(metrics: Metrics, system: 'postgresql' | 'sqlite'): (event: LogEvent) => void {
  const measure = databaseOperations(metrics, system);
  return (event) => {
    const name = operationOf(event.query.sql);
    if (name === undefined) return;
    const errorType = event.level === 'error' ? errorTypeOf(event.error) : '';
    measure({ name, seconds: event.queryDurationMillis / 1_000, errorType });
  };
}

/** Undefined for statements that begin and end transactions or change tables. */
function operationOf(statement: string): string | undefined {
  const word = /^\s*(select|insert|update|delete|with)\b/i.exec(statement)?.[1]?.toLowerCase();
  return word === 'with' ? 'select' : word;
}
