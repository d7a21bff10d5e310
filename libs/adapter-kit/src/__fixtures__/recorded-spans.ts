import { context, propagation, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';

/** An ended span in a form that is convenient for tests. */
export interface RecordedSpan {
  readonly name: string;
  readonly kind: string | undefined;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: ReadableSpan['attributes'];
  readonly events: readonly string[];
  /** The status message of a failed span. */
  readonly failure: string | undefined;
}

/** All spans of the process from now on, in the order in which they end. Disposal stops tracing. */
export class RecordedSpans implements Disposable {
  readonly all: RecordedSpan[] = [];

  constructor() {
    const processor = {
      onStart: () => undefined,
      onEnd: (span: ReadableSpan) => void this.all.push(toRecorded(span)),
      forceFlush: async () => undefined,
      shutdown: async () => undefined,
    };
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }));
  }

  [Symbol.dispose](): void {
    for (const api of [context, propagation, trace]) api.disable();
  }
}

function toRecorded(span: ReadableSpan): RecordedSpan {
  const { traceId, spanId } = span.spanContext();
  const { name, kind, attributes, events, status } = span;
  return {
    ...{ name, kind: SpanKind[kind]?.toLowerCase(), traceId, spanId, attributes, failure: status.message },
    parentSpanId: span.parentSpanContext?.spanId,
    events: events.map((event) => event.name),
  };
}
