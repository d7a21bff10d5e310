import { type Logger as PinoLogger, pino } from 'pino';
import { errorRecord } from './error-record.ts';

export type Logger = PinoLogger;

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

/** A structured logger: one JSON object a line on standard error, so that commands keep standard output to themselves. */
export function createLogger(service: string, level = 'info'): Logger {
  return pino(
    {
      level,
      base: { service },
      redact: { paths: redactedPaths, censor: '[redacted]' },
      serializers: { err: errorRecord },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
