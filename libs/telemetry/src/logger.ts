import { epochMs } from '@gateway/time';
import { type Logger as PinoLogger, pino, stdSerializers } from 'pino';
import { readableLine } from './readable-line.ts';
import { traceFields } from './tracing.ts';

export type Logger = PinoLogger;

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * A structured logger on standard error, which leaves standard output to commands. It writes one
 * JSON object per line; on a terminal it writes readable lines.
 */
export function createLogger(service: string, level = 'info'): Logger {
  return pino(
    {
      level,
      base: { service },
      redact: { paths: redactedPaths, censor: '[redacted]' },
      serializers: { err: errorRecord },
      mixin: () => traceFields() ?? {},
      timestamp: () => `,"time":"${new Date(epochMs()).toISOString()}"`,
    },
    process.stderr.isTTY ? terminal : pino.destination({ dest: 2, sync: true }),
  );
}

const terminal = {
  write: (line: string) => process.stderr.write(`${readableLine(line.trimEnd())}\n`),
};

/**
 * An error as the log shows it, with its causes. Libraries attach more to their errors, such as the
 * parameters of a failed statement or the arguments of a failed command. These may contain secrets
 * and are left out.
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

/** The fields of an error that describe the failure and contain no data. */
const keptFields = ['type', 'message', 'stack', 'code', 'status', 'syscall', 'address', 'port'] as const;

const redactedPaths = [
  'authorization',
  'headers.authorization',
  'headers["x-api-key"]',
  'headers.cookie',
  'token',
  'tokenText',
  'secret',
  'bearer',
  'apiKey',
];
