import { stdSerializers } from 'pino';

/** What says what went wrong, and holds no data. */
const keptFields = ['type', 'message', 'stack', 'code', 'status', 'syscall', 'address', 'port'] as const;

/**
 * An error as the log shows it, with its causes. Libraries hang more on their errors, such as the parameters of a failed
 * statement or the words of a failed command: those may hold secrets and are left out.
 */
export function errorRecord(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return typeof thrown === 'object' ? 'not an Error' : thrown;
  const { aggregateErrors, ...serialized } = stdSerializers.err(thrown);
  const kept = keptFields.flatMap((field) => (field in serialized ? [[field, serialized[field]] as const] : []));
  const each = aggregateErrors === undefined ? {} : { aggregateErrors: errorsOf(thrown).map(errorRecord) };
  return { ...Object.fromEntries(kept), ...each };
}

function errorsOf(thrown: Error): readonly unknown[] {
  return thrown instanceof AggregateError ? thrown.errors : [];
}
