import {
  AggregatorRegistry,
  Counter,
  Gauge,
  Histogram,
  type Metric,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';

/** The metrics of one process as data, which another process can show. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

export interface WorkerMetrics {
  /** The value of the label `worker` of all its samples. */
  readonly worker: string;
  readonly metrics: MetricsSnapshot;
}

interface MetricOptions<L extends string> {
  /** Prometheus name with its unit: `gateway_requests_total`, `gateway_request_duration_seconds`. */
  readonly name: string;
  readonly help: string;
  /** Names of few possible values each: no ids, no models that clients make up. */
  readonly labels?: readonly L[];
}

/** The metrics of one process. Asking twice for a name gives the same metric, so that services can share a process. */
export class Metrics {
  readonly registry = new Registry();
  readonly #workers: (() => Promise<readonly WorkerMetrics[]>)[] = [];

  counter<L extends string = never>({ name, help, labels = [] }: MetricOptions<L>): Counter<L> {
    return this.#once(name, () => new Counter({ name, help, labelNames: [...labels], registers: [this.registry] }));
  }

  gauge<L extends string = never>({ name, help, labels = [] }: MetricOptions<L>): Gauge<L> {
    return this.#once(name, () => new Gauge({ name, help, labelNames: [...labels], registers: [this.registry] }));
  }

  histogram<L extends string = never>({
    name,
    help,
    labels = [],
    buckets,
  }: MetricOptions<L> & { readonly buckets: readonly number[] }): Histogram<L> {
    const options = { name, help, labelNames: [...labels], buckets: [...buckets], registers: [this.registry] };
    return this.#once(name, () => new Histogram(options));
  }

  /** The text that Prometheus reads: of this process, and of the workers that are included. */
  async exposition(): Promise<string> {
    const workers = (await Promise.all(this.#workers.map((read) => read()))).flat();
    if (workers.length === 0) return this.registry.metrics();
    return AggregatorRegistry.aggregate([await this.snapshot(), ...workers.map(labelled)]).metrics();
  }

  snapshot(): Promise<MetricsSnapshot> {
    return this.registry.getMetricsAsJSON();
  }

  /** Shows the metrics of worker processes too. They are read at each exposition. */
  include(read: () => Promise<readonly WorkerMetrics[]>): void {
    this.#workers.push(read);
  }

  #once<M extends Metric>(name: string, make: () => M): M {
    // A name is registered with one kind only; a second kind under it would be a mistake of ours.
    return (this.registry.getSingleMetric(name) as M | undefined) ?? make();
  }
}

function labelled({ worker, metrics }: WorkerMetrics): MetricsSnapshot {
  return metrics.map((metric) => ({
    ...metric,
    values: metric.values.map((value) => ({ ...value, labels: { worker, ...value.labels } })),
  }));
}

/** Buckets for durations of calls and requests, in seconds: 1 ms to 10 minutes. */
export const durationBucketsSeconds = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600,
];
