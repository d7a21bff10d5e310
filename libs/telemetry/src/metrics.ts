import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  type LabelValues,
  type Metric,
  type MetricObjectWithValues,
  type MetricValue,
  type OpenMetricsContentType,
  type PrometheusContentType,
  Histogram as PromHistogram,
  Registry,
} from 'prom-client';
import { activeSpan, exemplarOf, type Span } from './tracing.ts';

/** The metrics of one process as data, which another process can show. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

export interface WorkerMetrics {
  /** The value of the label `worker` of all its samples. */
  readonly worker: string;
  readonly metrics: MetricsSnapshot;
}

interface MetricOptions<L extends string> {
  /** Prometheus name with its unit: `gateway_refusals_total`, `http_server_request_duration_seconds`. */
  readonly name: string;
  readonly help: string;
  /** Names of few possible values each: no ids, no models that clients make up. */
  readonly labels?: readonly L[];
}

/** Observations name the sampled trace in which they are made: an exemplar, of which each bucket of a series takes one a second at most. */
export interface Histogram<L extends string = never> {
  /** @param traceparent of what was measured, if that is not the trace in which it is observed */
  observe(labels: LabelValues<L>, value: number, traceparent?: string): void;
}

/** The metrics of one process. Asking twice for a name gives the same metric, so that services can share a process. */
export class Metrics {
  readonly registry = registryOf(Registry.OPENMETRICS_CONTENT_TYPE);
  readonly #workers: (() => Promise<readonly WorkerMetrics[]>)[] = [];
  readonly #readings: (() => Promise<void>)[] = [];
  readonly #histograms = new Map<string, Histogram<string>>();

  /** With what Node says of the process: `process_*`, `nodejs_*`. Once in a process. */
  static ofProcess(): Metrics {
    const metrics = new Metrics();
    collectDefaultMetrics({ register: metrics.registry });
    return metrics;
  }

  counter<L extends string = never>({ name, help, labels = [] }: MetricOptions<L>): Counter<L> {
    return this.#once(name, () => new Counter({ name, help, labelNames: [...labels], registers: [this.registry] }));
  }

  /** @param read gives the value of a gauge without labels, each time that it is shown. */
  gauge<L extends string = never>({
    name,
    help,
    labels = [],
    read,
  }: MetricOptions<L> & { readonly read?: () => number }): Gauge<L> {
    const options = { name, help, labelNames: [...labels], registers: [this.registry] };
    const collect = function (this: Gauge<L>) {
      if (read !== undefined) this.set(read());
    };
    return this.#once(name, () => new Gauge({ ...options, collect }));
  }

  histogram<L extends string = never>({
    name,
    help,
    labels = [],
    buckets,
  }: MetricOptions<L> & { readonly buckets: readonly number[] }): Histogram<L> {
    const registers = [this.registry];
    const options = { name, help, labelNames: [...labels], buckets: [...buckets], registers, enableExemplars: true };
    return this.#histograms.getOrInsertComputed(name, () => exemplary(new PromHistogram<string>(options), options));
  }

  /** The text that Prometheus reads: of this process, and of the workers that are included. */
  async exposition(contentType: ExpositionType = Registry.PROMETHEUS_CONTENT_TYPE): Promise<string> {
    const workers = (await Promise.all(this.#workers.map((read) => read()))).flat();
    const page = registryOf(contentType);
    for (const metric of merged([await this.snapshot(), ...workers.map(labelled)])) page.registerMetric(metric);
    return page.metrics();
  }

  async snapshot(): Promise<MetricsSnapshot> {
    await Promise.allSettled(this.#readings.map((read) => read()));
    return this.registry.getMetricsAsJSON();
  }

  /** Has gauges set before they are shown, and only then. A reading that fails leaves them as they are. */
  beforeSnapshot(read: () => Promise<void>): void {
    this.#readings.push(read);
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

export type ExpositionType = PrometheusContentType | OpenMetricsContentType;

/** The format that a reader asks for by its Accept header: OpenMetrics, which alone has exemplars, or the older one. */
export function expositionType(accept = ''): ExpositionType {
  return accept.includes('application/openmetrics-text')
    ? Registry.OPENMETRICS_CONTENT_TYPE
    : Registry.PROMETHEUS_CONTENT_TYPE;
}

function registryOf(contentType: ExpositionType): Registry<ExpositionType> {
  const registry = new Registry<ExpositionType>();
  registry.setContentType(contentType);
  return registry;
}

/** Only the latest exemplar of a bucket is ever shown. More than one a second would cost more than the observations. */
function exemplary(
  histogram: PromHistogram<string>,
  { labelNames, buckets }: { readonly labelNames: readonly string[]; readonly buckets: readonly number[] },
): Histogram<string> {
  /** When the next exemplar of a bucket is due, by its bound and the values of its labels. */
  const dueMs = new Map<string, number>();
  const exemplarFor = (labels: LabelValues<string>, value: number, measured: Span | string | undefined) => {
    if (measured === undefined) return undefined;
    const bucket = [buckets.find((bound) => value <= bound), ...labelNames.map((name) => labels[name])].join('\n');
    const nowMs = performance.now();
    if (nowMs < (dueMs.get(bucket) ?? 0)) return undefined;
    const exemplar = exemplarOf(measured);
    if (exemplar !== undefined) dueMs.set(bucket, nowMs + 1_000);
    return exemplar;
  };
  return {
    observe(labels, value, traceparent) {
      const exemplarLabels = exemplarFor(labels, value, traceparent ?? activeSpan());
      histogram.observe({ labels, value, exemplarLabels });
    },
  };
}

/** One metric for each name, as a registry takes it. prom-client's own aggregation drops exemplars, and some metrics. */
function merged(snapshots: readonly MetricsSnapshot[]): readonly Metric[] {
  const byName = Map.groupBy(snapshots.flat(), ({ name }) => name);
  return [...byName.values()].map((same) => {
    const values = same.flatMap((each) => each.values);
    // A registry reads a metric by `get()`, and takes `_total` from the name of a counter before that.
    const metric = { ...same[0], values, get: () => metric };
    return metric as unknown as Metric;
  });
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
