import { randomBytes } from 'node:crypto';
import type { ReceivedSpan } from '@gateway/telemetry/testing';

/** A span of a client, which the gateway continues. */
export interface ClientSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** W3C's header. */
  readonly traceparent: string;
}

export function clientSpan({ isSampled = true } = {}): ClientSpan {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}` };
}

/** The spans of one trace, with their parents. */
export class SpanTree {
  readonly spans: readonly ReceivedSpan[];

  constructor(spans: readonly ReceivedSpan[], traceId: string) {
    this.spans = spans.filter((span) => span.traceId === traceId);
  }

  named(name: string | RegExp): readonly ReceivedSpan[] {
    return this.spans.filter((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)));
  }

  parentOf({ parentSpanId }: ReceivedSpan): ReceivedSpan | undefined {
    return this.spans.find(({ spanId }) => spanId === parentSpanId);
  }

  /** Its parent, the parent of that, and so on. */
  above(span: ReceivedSpan): readonly ReceivedSpan[] {
    const parent = this.parentOf(span);
    return parent === undefined ? [] : [parent, ...this.above(parent)];
  }

  /** The given spans that began within a span, in the order of their beginning. */
  within(span: ReceivedSpan, spans = this.spans): readonly ReceivedSpan[] {
    return spans.filter((each) => this.above(each).includes(span)).toSorted((a, b) => a.startMs - b.startMs);
  }

  /** The tree as text, for the message of a failed test. */
  get text(): string {
    const known = new Set(this.spans.map(({ spanId }) => spanId));
    const lines = (span: ReceivedSpan, depth: number): readonly string[] => [
      `${'  '.repeat(depth)}${span.service}: ${span.name} (${span.kind}) ${JSON.stringify(span.attributes)}`,
      ...this.spans
        .filter(({ parentSpanId }) => parentSpanId === span.spanId)
        .flatMap((each) => lines(each, depth + 1)),
    ];
    return this.spans
      .filter(({ parentSpanId = '' }) => !known.has(parentSpanId))
      .flatMap((root) => lines(root, 0))
      .join('\n');
  }
}
