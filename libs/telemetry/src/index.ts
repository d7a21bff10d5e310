export type { Counter, Gauge } from 'prom-client';
export { type Backend, backendUp } from './backend-up.ts';
export { readBuild, versionText } from './build.ts';
export type { Logger, LogLevel } from './logger.ts';
export { createLogger, logLevels } from './logger.ts';
export type { Histogram, MetricsSnapshot, WorkerMetrics } from './metrics.ts';
export { durationBucketsSeconds, expositionType, Metrics } from './metrics.ts';
export { readableLine } from './readable-line.ts';
export {
  type Attributes,
  activeSpan,
  activeTraceparent,
  errorTypeOf,
  exemplarOf,
  failSpan,
  inSpan,
  outsideTraces,
  type Span,
  SpanKind,
  type SpanSettings,
  startSpan,
  startTracing,
  traceFields,
  traceparentOf,
  withSpan,
} from './tracing.ts';
