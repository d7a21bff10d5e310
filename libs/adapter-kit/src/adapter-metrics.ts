import { AttemptResult, ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import { type Counter, durationBucketsSeconds, type Gauge, type Histogram, type Metrics } from '@gateway/telemetry';
import type { ErrorMeaning } from './failure/upstream-failure.ts';

/** What is counted of an adapter's calls to providers. */
export class AdapterMetrics {
  readonly #labels: { readonly format: string };
  readonly #attempts: Counter<'format' | 'result'>;
  readonly #amended: Counter<'format' | 'meaning'>;
  readonly #unknownEvents: Counter<'format'>;
  readonly #firstByte: Histogram<'format'>;
  readonly #openStreams: Gauge<'format'>;

  constructor(metrics: Metrics, format: ProviderFormatId) {
    this.#labels = { format: ProviderFormatId[format].toLowerCase() };
    this.#attempts = metrics.counter({
      name: 'gateway_upstream_attempts_total',
      help: 'Attempts at a provider, by how they ended.',
      labels: ['format', 'result'],
    });
    this.#amended = metrics.counter({
      name: 'gateway_upstream_amended_requests_total',
      help: 'Requests that were sent again at once without what the provider complained of, by the complaint.',
      labels: ['format', 'meaning'],
    });
    this.#unknownEvents = metrics.counter({
      name: 'gateway_upstream_unknown_events_total',
      help: 'Events of providers that were skipped because this version of the gateway does not know them.',
      labels: ['format'],
    });
    this.#firstByte = metrics.histogram({
      name: 'gateway_upstream_first_byte_seconds',
      help: 'Time from sending a request to the head of the provider’s answer.',
      labels: ['format'],
      buckets: durationBucketsSeconds,
    });
    this.#openStreams = metrics.gauge({
      name: 'gateway_upstream_open_streams',
      help: 'Requests to providers that are under way.',
      labels: ['format'],
    });
    // From the start, so that no request is needed to see it.
    this.#openStreams.inc(this.#labels, 0);
    this.#unknownEvents.inc(this.#labels, 0);
  }

  attemptEnded(result: AttemptResult): void {
    this.#attempts.inc({ ...this.#labels, result: AttemptResult[result].toLowerCase() });
  }

  requestAmended(meaning: ErrorMeaning): void {
    this.#amended.inc({ ...this.#labels, meaning });
  }

  unknownEventsSkipped(count: number): void {
    if (count > 0) this.#unknownEvents.inc(this.#labels, count);
  }

  answerBegan(sinceStartMs: number): void {
    this.#firstByte.observe(this.#labels, sinceStartMs / 1_000);
  }

  streamOpened(): void {
    this.#openStreams.inc(this.#labels);
  }

  streamClosed(): void {
    this.#openStreams.dec(this.#labels);
  }
}
