import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  INVALID_SPAN_CONTEXT,
  isSpanContextValid,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

export { type Attributes, type Span, SpanKind } from '@opentelemetry/api';

export interface SpanSettings {
  /** Default: internal. */
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** The W3C `traceparent` that it continues, in place of the span that is active here. */
  readonly traceparent?: string | undefined;
  /** Its ids go on, but whether the trace is sampled is decided here: who sent it is not trusted with that. */
  readonly decidesSampling?: boolean;
  /** Other traces that it belongs to, by their `traceparent`. */
  readonly links?: readonly string[];
}

export interface TracingOptions {
  /** `service.name`, unless OTEL_SERVICE_NAME says otherwise. */
  readonly service: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Sends spans over OTLP when an endpoint is set; the SDK is loaded only then. An endpoint that is away costs requests nothing: a
 * bounded queue of spans waits for it, and what does not fit is dropped and counted. Disposing it sends what is left.
 *
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export async function startTracing(
  options: TracingOptions,
  env: Environment = process.env,
): Promise<AsyncDisposable | undefined> {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!endpoint || env.OTEL_SDK_DISABLED === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return undefined;
  const { startSdk } = await import('./tracing-sdk.ts');
  return startSdk(options, env);
}

/** Runs `work` within a span, which is the parent of all spans that begin in it, and ends with it. A failure is recorded by its name. */
export async function inSpan<T>(name: string, settings: SpanSettings, work: (span: Span) => Promise<T>): Promise<T> {
  const span = startSpan(name, settings);
  try {
    return await withSpan(span, () => work(span));
  } catch (thrown) {
    failSpan(span, thrown);
    throw thrown;
  } finally {
    span.end();
  }
}

/**
 * A span that its caller ends. Traces begin where a request or message comes in, whatever is active there: an internal or client span
 * outside of a trace, such as one of background work, is not recorded.
 */
export function startSpan(
  name: string,
  { kind = SpanKind.INTERNAL, attributes, traceparent, decidesSampling = false, links }: SpanSettings = {},
): Span {
  const isPart = kind === SpanKind.INTERNAL || kind === SpanKind.CLIENT;
  const given = traceparent !== undefined ? contextOf(traceparent) : isPart ? context.active() : ROOT_CONTEXT;
  const parent = decidesSampling && traceparent !== undefined ? given.setValue(decidesSamplingKey, true) : given;
  // What is not sampled is not from here on: calls carry the span that was not.
  if (isPart && !isSampled(trace.getSpanContext(parent))) return noSpan;
  const options = { kind, ...(attributes && { attributes }), ...(links && { links: links.flatMap(linkOf) }) };
  return trace.getTracer('gateway').startSpan(name, options, parent);
}

/** Runs `work` with the span as the parent of what begins in it, also after it has waited. */
export function withSpan<T>(span: Span, work: () => T): T {
  return span === noSpan ? work() : context.with(trace.setSpan(context.active(), span), work);
}

/** A failure says its code or its name: texts may hold what clients sent. @param thrown an error, or what it is called */
export function failSpan(span: Span, thrown: unknown): void {
  if (!span.isRecording()) return;
  const type = errorTypeOf(thrown);
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR, message: type });
}

/** Runs `work` outside of the trace that is active here: for what goes on after the request that happened to begin it. */
export function outsideTraces<T>(work: () => T): T {
  return context.with(ROOT_CONTEXT, work);
}

/** The span that is active here, for attributes and events. One that is not recorded takes them and keeps nothing. */
export function activeSpan(): Span | undefined {
  return trace.getActiveSpan();
}

/** What a message or call to another process carries; undefined without tracing. */
export function activeTraceparent(): string | undefined {
  const span = trace.getActiveSpan();
  return span && traceparentOf(span);
}

/** W3C's header of a span; undefined without tracing. @see https://www.w3.org/TR/trace-context/ */
export function traceparentOf(span: Span): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(trace.setSpan(ROOT_CONTEXT, span), carrier);
  return carrier.traceparent;
}

/** What log lines say of the span that is active here. */
export function traceFields(): { readonly trace_id: string; readonly span_id: string } | undefined {
  const active = trace.getSpanContext(context.active());
  return active && isSpanContextValid(active) ? { trace_id: active.traceId, span_id: active.spanId } : undefined;
}

/**
 * The label of an exemplar: the trace of what was measured. Undefined when that is not sampled.
 * @param measured its span or its `traceparent`
 */
export function exemplarOf(measured: Span | string | undefined): { readonly trace_id: string } | undefined {
  const traced = typeof measured === 'string' ? trace.getSpanContext(contextOf(measured)) : measured?.spanContext();
  return isSampled(traced) ? { trace_id: traced.traceId } : undefined;
}

/** In the context of a span's parent whose decision on sampling does not count. */
export const decidesSamplingKey = createContextKey('gateway.decides-sampling');

const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

function isSampled(traced: SpanContext | undefined): traced is SpanContext {
  return traced !== undefined && (traced.traceFlags & TraceFlags.SAMPLED) !== 0;
}

function contextOf(traceparent: string): Context {
  return propagation.extract(ROOT_CONTEXT, { traceparent });
}

function linkOf(traceparent: string): readonly Link[] {
  const linked = trace.getSpanContext(contextOf(traceparent));
  return linked === undefined ? [] : [{ context: linked }];
}

/** `error.type` of a span or a metric. @param thrown an error, or what it is called */
export function errorTypeOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (!(thrown instanceof Error)) return typeof thrown;
  const code = 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' ? code : thrown.name;
}
