import { AttemptResult, ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import {
  type BoundCounter,
  type BoundGauge,
  type BoundHistogram,
  type Counter,
  durationBucketsSeconds,
  type Metrics,
  remembering,
} from '@gateway/telemetry';
import type { ErrorMeaning } from './failure/upstream-failure.ts';

/** What is counted of an adapter's calls to providers. */
export class AdapterMetrics {
  readonly #format: string;
  readonly #attempts: (result: AttemptResult) => BoundCounter;
  readonly #amended: Counter<'format' | 'meaning'>;
  // Bound to their labels once: they are used for every request.
  readonly #firstByte: BoundHistogram;
  readonly #openStreams: BoundGauge;
  readonly #unknownEvents: BoundCounter;

  constructor(metrics: Metrics, format: ProviderFormatId) {
    this.#format = ProviderFormatId[format].toLowerCase();
    const attempts = metrics.counter({
      name: 'gateway_upstream_attempts_total',
      help: 'Attempts at a provider, by how they ended.',
      labels: ['format', 'result'],
    });
    this.#attempts = remembering((result) =>
      attempts.with({ format: this.#format, result: AttemptResult[result].toLowerCase() }),
    );
    this.#amended = metrics.counter({
      name: 'gateway_upstream_amended_requests_total',
      help: 'Requests that were sent again at once without what the provider complained of, by the complaint.',
      labels: ['format', 'meaning'],
    });
    this.#unknownEvents = metrics
      .counter({
        name: 'gateway_upstream_unknown_events_total',
        help: 'Events of providers that were skipped because this version of the gateway does not know them.',
        labels: ['format'],
      })
      .with({ format: this.#format });
    this.#firstByte = metrics
      .histogram({
        name: 'gateway_upstream_first_byte_seconds',
        help: 'Time from sending a request to the head of the provider’s answer.',
        labels: ['format'],
        buckets: durationBucketsSeconds,
      })
      .with({ format: this.#format });
    this.#openStreams = metrics
      .gauge({
        name: 'gateway_upstream_open_streams',
        help: 'Requests to providers that are under way.',
        labels: ['format'],
      })
      .with({ format: this.#format });
  }

  attemptEnded(result: AttemptResult): void {
    this.#attempts(result).inc();
  }

  requestAmended(meaning: ErrorMeaning): void {
    this.#amended.inc({ format: this.#format, meaning });
  }

  unknownEventsSkipped(count: number): void {
    if (count > 0) this.#unknownEvents.inc(count);
  }

  answerBegan(sinceStartMs: number): void {
    this.#firstByte.observe(sinceStartMs / 1_000);
  }

  streamOpened(): void {
    this.#openStreams.inc();
  }

  streamClosed(): void {
    this.#openStreams.dec();
  }
}
