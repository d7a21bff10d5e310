export type { Counter, Gauge, Histogram } from 'prom-client';
export { readBuild, versionText } from './build.ts';
export type { Logger, LogLevel } from './logger.ts';
export { createLogger, logLevels } from './logger.ts';
export type { MetricsSnapshot, WorkerMetrics } from './metrics.ts';
export { durationBucketsSeconds, Metrics } from './metrics.ts';
export {
  type Attributes,
  activeSpan,
  activeTraceparent,
  exemplarOf,
  failSpan,
  inSpan,
  type Span,
  SpanKind,
  type SpanSettings,
  startSpan,
  startTracing,
  traceFields,
  traceparentOf,
  withSpan,
} from './tracing.ts';
