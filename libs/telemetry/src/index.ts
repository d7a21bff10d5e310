export type { Logger, LogLevel } from './logger.ts';
export { createLogger, logLevels } from './logger.ts';
export { durationBucketsSeconds, Metrics } from './metrics.ts';
