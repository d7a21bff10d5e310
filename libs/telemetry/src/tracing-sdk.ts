import { randomBytes, randomId, sleep } from '@gateway/time';
import { context, createNoopMeter, type MeterProvider, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { readBuild } from './build.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { decidesSamplingKey } from './tracing.ts';

export interface TracingOptions {
  /** `service.name`, unless OTEL_SERVICE_NAME overrides it. */
  readonly service: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * OpenTelemetry's SDK, configured by its environment variables. A module of its own, so that a
 * gateway without an endpoint does not load it.
 */
export function startSdk({ service, logger, metrics }: TracingOptions, env: Environment): AsyncDisposable {
  checkExporter(env, logger);
  const spans = countersOf(metrics);
  const timeoutMillis = numberOf(
    env,
    'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
    numberOf(env, 'OTEL_EXPORTER_OTLP_TIMEOUT', 3_000),
  );
  const processor = new BatchSpanProcessor({
    exporter: counted(new OTLPTraceExporter({ timeoutMillis }), spans, logger),
    maxQueueSize: numberOf(env, 'OTEL_BSP_MAX_QUEUE_SIZE', 2_048),
    maxExportBatchSize: numberOf(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
    scheduledDelayMillis: numberOf(env, 'OTEL_BSP_SCHEDULE_DELAY', 5_000),
    exportTimeoutMillis: numberOf(env, 'OTEL_BSP_EXPORT_TIMEOUT', 30_000),
    selfObsMeterProvider: queueObserver(() => spans.dropped.inc({ reason: 'queue_full' })),
  });
  const { version } = readBuild();
  const own = { 'service.name': service, 'service.version': version, 'service.instance.id': randomId() };
  const resource = defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new TracerProvider({ resource, sampler: samplerOf(env), spanProcessors: [processor] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return {
    async [Symbol.asyncDispose]() {
      const tooLate = sleep(stopMs, { ref: false });
      await Promise.race([provider.shutdown(), tooLate]).catch(({ message }: Error) =>
        logger.warn({ reason: message }, 'the last spans could not be exported'),
      );
      for (const api of [context, propagation, trace]) api.disable();
    },
  };
}

/** How long a stop waits for the endpoint, whatever its own timeout is. */
const stopMs = 4_000;

/** The exporter would silently fall back to its defaults. @throws when the endpoint is not valid */
function checkExporter(env: Environment, logger: Logger): void {
  const names = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;
  for (const name of names) {
    const { [name]: url } = env;
    if (!url || /^https?:$/.test(URL.parse(url)?.protocol ?? '')) continue;
    throw new Error(`${name} must be a URL, not "${url}". For example: ${name}=http://collector:4318`);
  }
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol && protocol !== 'http/protobuf') {
    logger.warn({ protocol }, 'OTEL_EXPORTER_OTLP_PROTOCOL is ignored: spans are exported as http/protobuf');
  }
}

type SpanCounters = ReturnType<typeof countersOf>;

function countersOf(metrics: Metrics) {
  const exported = metrics.counter({
    name: 'gateway_trace_spans_exported_total',
    help: 'Spans that the OTLP endpoint accepted.',
  });
  const dropped = metrics.counter({
    name: 'gateway_trace_spans_dropped_total',
    help: 'Dropped spans: the queue was full, or the OTLP endpoint did not accept them.',
    labels: ['reason'],
  });
  for (const reason of ['queue_full', 'export_failed']) dropped.inc({ reason }, 0);
  return { exported, dropped };
}

/**
 * Wraps the exporter to count what happens to its spans. Of consecutive failures, the first is
 * logged.
 */
function counted(exporter: SpanExporter, { exported, dropped }: SpanCounters, logger: Logger): SpanExporter {
  let isFailing = false;
  return {
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== ExportResultCode.SUCCESS;
        if (hasFailed) dropped.inc({ reason: 'export_failed' }, spans.length);
        else exported.inc(spans.length);
        if (hasFailed && !isFailing)
          logger.warn({ reason: result.error?.message }, 'spans could not be exported and are dropped');
        isFailing = hasFailed;
        // The failure is already reported. Otherwise the SDK would write it to standard error for
        // every batch.
        done({ code: ExportResultCode.SUCCESS });
      }),
  };
}

/** The SDK reports spans that did not fit in its queue as a metric of its own. */
function queueObserver(onDropped: () => void): MeterProvider {
  const counter = {
    add(_spans: number, attributes?: object): void {
      if (attributes && 'error.type' in attributes && attributes['error.type'] === 'queue_full') onDropped();
    },
  };
  return { getMeter: () => Object.assign(createNoopMeter(), { createCounter: () => counter }) };
}

/**
 * The sampler of OTEL_TRACES_SAMPLER and its argument. A caller's decision applies unless the name
 * lacks `parentbased_` or the caller is not trusted. An untrusted caller also chose the trace's id,
 * so the ratio then applies to numbers that the caller does not know.
 */
function samplerOf(env: Environment): Sampler {
  const name = env.OTEL_TRACES_SAMPLER || 'parentbased_always_on';
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || 1);
  if (!(ratio >= 0 && ratio <= 1)) throw new Error('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1.');
  const root = rootSampler(name.replace('parentbased_', ''), ratio);
  const usual = name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
  return {
    toString: () => usual.toString(),
    shouldSample(parent, traceId, ...span) {
      if (parent.getValue(decidesSamplingKey) !== true) return usual.shouldSample(parent, traceId, ...span);
      return root.shouldSample(ROOT_CONTEXT, randomBytes(16).toString('hex'), ...span);
    },
  };
}

function rootSampler(name: string, ratio: number): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    default:
      throw new Error(`OTEL_TRACES_SAMPLER: ${name} is unknown. Use for example parentbased_traceidratio`);
  }
}

function numberOf(env: Environment, name: string, otherwise: number): number {
  const { [name]: text = '' } = env;
  const value = Number(text);
  return text === '' || !Number.isFinite(value) || value < 0 ? otherwise : value;
}
