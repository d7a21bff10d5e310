import { type Counter, durationBucketsSeconds, type Gauge, type Histogram, type Metrics } from '@gateway/telemetry';

/** What is counted of every request. */
export class RequestMetrics {
  readonly #inFlight: Gauge;
  readonly #requests: Counter<'endpoint' | 'status'>;
  readonly #seconds: Histogram<'endpoint'>;

  constructor(metrics: Metrics) {
    this.#requests = metrics.counter({
      name: 'gateway_requests_total',
      help: 'Requests by endpoint and HTTP status; 499 when the client left before the end.',
      labels: ['endpoint', 'status'],
    });
    this.#seconds = metrics.histogram({
      name: 'gateway_request_duration_seconds',
      help: 'Time from the first byte of a request to the last of its answer.',
      labels: ['endpoint'],
      buckets: durationBucketsSeconds,
    });
    this.#inFlight = metrics.gauge({ name: 'gateway_requests_in_flight', help: 'Requests under way.' });
  }

  started(): void {
    this.#inFlight.inc();
  }

  ended(endpoint: string, status: number, seconds: number): void {
    this.#inFlight.dec();
    this.#requests.inc({ endpoint, status: String(status) });
    this.#seconds.observe({ endpoint }, seconds);
  }
}
