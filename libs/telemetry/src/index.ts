export type { Counter, Gauge } from 'prom-client';
export * from './backends.ts';
export * from './build.ts';
export { createLogger, type Logger, type LogLevel, logLevels } from './logger.ts';
export * from './metrics.ts';
export { readableLine } from './readable-line.ts';
export { startTracing } from './start-tracing.ts';
export * from './tracing.ts';
export type { Environment, TracingOptions } from './tracing-sdk.ts';
