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

export { type Attributes, type Span, SpanKind } from '@opentelemetry/api';

export interface SpanSettings {
  /** Default: internal. */
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** The W3C `traceparent` that the span continues, instead of the active span. */
  readonly traceparent?: string | undefined;
  /**
   * Keeps the trace's ids but decides here whether it is sampled, because the sender is not trusted
   * with that decision.
   */
  readonly decidesSampling?: boolean;
  /** The `traceparent` of other traces that the span belongs to. */
  readonly links?: readonly string[];
}

/**
 * Runs `work` within a span, which is the parent of all spans that start in it, and ends when
 * `work` does. A failure is recorded by its name.
 */
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
 * Starts a span that the caller must end. Traces start where a request or message arrives, whatever
 * is active there. An internal or client span outside of a trace, such as one of background work,
 * is not recorded.
 */
export function startSpan(
  name: string,
  { kind = SpanKind.INTERNAL, attributes, traceparent, decidesSampling = false, links }: SpanSettings = {},
): Span {
  const isPart = kind === SpanKind.INTERNAL || kind === SpanKind.CLIENT;
  const given = traceparent !== undefined ? contextOf(traceparent) : isPart ? context.active() : ROOT_CONTEXT;
  const parent = decidesSampling && traceparent !== undefined ? given.setValue(decidesSamplingKey, true) : given;
  // Under a parent that is not sampled no span starts: calls carry the parent itself.
  if (isPart && !isSampled(trace.getSpanContext(parent))) return noSpan;
  const options = { kind, ...(attributes && { attributes }), ...(links && { links: links.flatMap(linkOf) }) };
  return trace.getTracer('gateway').startSpan(name, options, parent);
}

/**
 * Runs `work` with the span as the parent of everything that starts in it, also after an `await`.
 */
export function withSpan<T>(span: Span, work: () => T): T {
  return span === noSpan ? work() : context.with(trace.setSpan(context.active(), span), work);
}

/**
 * Records a failure by its code or name, because messages may contain clients' data.
 * @param thrown an error, or its name
 */
export function failSpan(span: Span, thrown: unknown): void {
  if (!span.isRecording()) return;
  const type = errorTypeOf(thrown);
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR, message: type });
}

/**
 * Runs `work` outside of the active trace: for work that outlives the request that happened to
 * start it.
 */
export function outsideTraces<T>(work: () => T): T {
  return context.with(ROOT_CONTEXT, work);
}

/**
 * The active span, for attributes and events. A span that is not recorded accepts them and keeps
 * nothing.
 */
export function activeSpan(): Span | undefined {
  return trace.getActiveSpan();
}

/** The `traceparent` for a message or call to another process; undefined without tracing. */
export function activeTraceparent(): string | undefined {
  const span = trace.getActiveSpan();
  return span && traceparentOf(span);
}

/**
 * The W3C header of a span; undefined without tracing.
 * @see https://www.w3.org/TR/trace-context/
 */
export function traceparentOf(span: Span): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(trace.setSpan(ROOT_CONTEXT, span), carrier);
  return carrier.traceparent;
}

/** The fields that identify the active span in log lines. */
export function traceFields(): { readonly trace_id: string; readonly span_id: string } | undefined {
  const active = trace.getSpanContext(context.active());
  return active && isSpanContextValid(active) ? { trace_id: active.traceId, span_id: active.spanId } : undefined;
}

/**
 * The label of an exemplar: the trace of the measured work. Undefined when it is not sampled.
 * @param measured its span or its `traceparent`
 */
export function exemplarOf(measured: Span | string | undefined): { readonly trace_id: string } | undefined {
  const traced = typeof measured === 'string' ? trace.getSpanContext(contextOf(measured)) : measured?.spanContext();
  return isSampled(traced) ? { trace_id: traced.traceId } : undefined;
}

/** Set in the context of a span whose parent's sampling decision is ignored. */
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

/** `error.type` of a span or a metric. @param thrown an error, or its name */
export function errorTypeOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (!(thrown instanceof Error)) return typeof thrown;
  const code = 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' ? code : thrown.name;
}
