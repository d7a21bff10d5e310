export type { Counter, Gauge } from 'prom-client';
export * from './backends.ts';
export * from './build.ts';
export { createLogger, type Logger, type LogLevel, logLevels } from './logger.ts';
export * from './metrics.ts';
export { readableLine } from './readable-line.ts';
export * from './tracing.ts';
