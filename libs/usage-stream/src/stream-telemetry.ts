import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { type Attributes, errorTypeOf, inSpan, type Metrics, SpanKind } from '@gateway/telemetry';
import { monotonicMs } from '@gateway/time';

/** The maximum number of traces that a span of many messages links to. */
const maxLinks = 100;

/**
 * Measures the processing of a stream's messages and creates spans, by OpenTelemetry's conventions.
 * A span exists only if a trace of a request in the messages is sampled. It belongs to the first
 * such trace and links to all of them.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/messaging/
 */
export class StreamTelemetry {
  readonly #stream: string;
  readonly #clientDurations: Durations;
  readonly #processDurations: Durations;

  constructor(metrics: Metrics, stream: string) {
    this.#stream = stream;
    this.#clientDurations = durationsOf(
      metrics,
      'messaging_client_operation_duration_seconds',
      'Duration of NATS operations. publish: until the stream (without a leader: an ingest) has all messages. fetch: until there is a message, a second at most. ack: until it has all acknowledgements.',
    );
    this.#processDurations = durationsOf(
      metrics,
      'messaging_process_duration_seconds',
      'Time to store a batch of usage messages.',
    );
  }

  /** Measures a call to NATS that does not belong to a particular message. */
  call<T>(operation: 'fetch' | 'ack', work: () => Promise<T>): Promise<T> {
    return this.#measured(this.#clientDurations, operation, work);
  }

  publish<T>(requests: Requests, work: () => Promise<T>): Promise<T> {
    return this.#inSpan('publish', requests, undefined, () => this.#measured(this.#clientDurations, 'publish', work));
  }

  /** @param sentIn the trace contexts in which the messages were published. */
  process<T>(requests: Requests, sentIn: readonly string[], work: () => Promise<T>): Promise<T> {
    return this.#inSpan('process', requests, sentIn[0], () => this.#measured(this.#processDurations, 'process', work));
  }

  #inSpan<T>(
    operation: keyof typeof spanKinds,
    requests: Requests,
    parent: string | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const traces = tracesOf(requests);
    const [first] = traces;
    if (first === undefined) return work();
    const { kind, type } = spanKinds[operation];
    const attributes: Attributes = {
      'messaging.system': 'nats',
      'messaging.operation.name': operation,
      'messaging.operation.type': type,
      'messaging.destination.name': this.#stream,
      'messaging.batch.message_count': requests.length,
    };
    const links = traces.slice(0, maxLinks);
    return inSpan(`${operation} ${this.#stream}`, { kind, attributes, traceparent: parent ?? first, links }, work);
  }

  async #measured<T>(durations: Durations, messaging_operation_name: string, work: () => Promise<T>): Promise<T> {
    const startedMs = monotonicMs();
    let error_type = '';
    try {
      return await work();
    } catch (thrown) {
      error_type = errorTypeOf(thrown);
      throw thrown;
    } finally {
      const seconds = (monotonicMs() - startedMs) / 1_000;
      const labels = { messaging_system: 'nats', messaging_operation_name, error_type };
      durations.observe({ ...labels, messaging_destination_name: this.#stream }, seconds);
    }
  }
}

const spanKinds = {
  publish: { kind: SpanKind.PRODUCER, type: 'send' },
  process: { kind: SpanKind.CONSUMER, type: 'process' },
} as const;

/** Each trace once: edges record the trace of a request only when it is sampled. */
function tracesOf(requests: Requests): readonly string[] {
  return [...new Set(requests.map(({ traceparent }) => traceparent).filter((traceparent) => traceparent !== ''))];
}

type Requests = readonly RequestRecorded[];

type Durations = ReturnType<typeof durationsOf>;

function durationsOf(metrics: Metrics, name: string, help: string) {
  return metrics.histogram({
    name,
    help,
    labels: ['messaging_system', 'messaging_operation_name', 'messaging_destination_name', 'error_type'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  });
}
