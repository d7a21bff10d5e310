export type { BoundCounter, BoundGauge, BoundHistogram } from './bound-metrics.ts';
export { Counter, Gauge, Histogram } from './bound-metrics.ts';
export type { Logger, LogLevel } from './logger.ts';
export { createLogger, logLevels } from './logger.ts';
export type { WorkerExposition } from './merge-expositions.ts';
export { durationBucketsSeconds, Metrics } from './metrics.ts';
export { remembering } from './remembering.ts';
