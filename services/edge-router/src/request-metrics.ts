import {
  type BoundCounter,
  type BoundGauge,
  type BoundHistogram,
  durationBucketsSeconds,
  type Metrics,
  remembering,
} from '@gateway/telemetry';

/** What is counted of every request. */
export class RequestMetrics {
  readonly #running: BoundGauge;
  readonly #endpoints: (endpoint: string) => EndpointMetrics;

  constructor(metrics: Metrics) {
    const requests = metrics.counter({
      name: 'gateway_requests_total',
      help: 'Requests by endpoint and HTTP status; 499 when the client left before the end.',
      labels: ['endpoint', 'status'],
    });
    const durations = metrics.histogram({
      name: 'gateway_request_duration_seconds',
      help: 'Time from the first byte of a request to the last of its answer.',
      labels: ['endpoint'],
      buckets: durationBucketsSeconds,
    });
    this.#running = metrics.gauge({ name: 'gateway_requests_in_flight', help: 'Requests under way.' }).with({});
    this.#endpoints = remembering((endpoint: string) => ({
      seconds: durations.with({ endpoint }),
      withStatus: remembering((status: number) => requests.with({ endpoint, status: String(status) })),
    }));
  }

  started(): void {
    this.#running.inc();
  }

  ended(endpoint: string, status: number, seconds: number): void {
    this.#running.dec();
    const metrics = this.#endpoints(endpoint);
    metrics.withStatus(status).inc();
    metrics.seconds.observe(seconds);
  }
}

interface EndpointMetrics {
  readonly seconds: BoundHistogram;
  readonly withStatus: (status: number) => BoundCounter;
}
