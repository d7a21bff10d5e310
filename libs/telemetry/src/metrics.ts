import { monotonicMs } from '@gateway/time';
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

/** The metrics of one process as data, which another process can expose. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

export interface WorkerMetrics {
  /** The value of the label `worker` in all its samples. */
  readonly worker: string;
  readonly metrics: MetricsSnapshot;
}

interface MetricOptions<L extends string> {
  /**
   * A Prometheus name with its unit: `gateway_refusals_total`,
   * `http_server_request_duration_seconds`.
   */
  readonly name: string;
  readonly help: string;
  /** Names of labels with few possible values: no ids, and no model names that clients make up. */
  readonly labels?: readonly L[];
}

/**
 * A histogram whose observations carry an exemplar: the sampled trace in which they are made. Each
 * bucket of a series takes at most one exemplar per second.
 */
export interface Histogram<L extends string = never> {
  /** @param traceparent the trace of the measured work, if it is not the active one */
  observe(labels: LabelValues<L>, value: number, traceparent?: string): void;
}

/**
 * The metrics of one process. Requesting a name twice returns the same metric, so that services can
 * share a process.
 */
export class Metrics {
  readonly registry = registryOf(Registry.OPENMETRICS_CONTENT_TYPE);
  readonly #workers: (() => Promise<readonly WorkerMetrics[]>)[] = [];
  readonly #readings: (() => Promise<void>)[] = [];
  readonly #histograms = new Map<string, Histogram<string>>();

  /** Includes Node's metrics of the process: `process_*`, `nodejs_*`. Call it once per process. */
  static ofProcess(): Metrics {
    const metrics = new Metrics();
    collectDefaultMetrics({ register: metrics.registry });
    return metrics;
  }

  counter<L extends string = never>({ name, help, labels = [] }: MetricOptions<L>): Counter<L> {
    return this.#once(name, () => new Counter({ name, help, labelNames: [...labels], registers: [this.registry] }));
  }

  /** @param read returns the value of a gauge without labels at each exposition. */
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

  /** The text that Prometheus reads: of this process and of its workers. */
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

  /**
   * Registers a function that sets gauges before each exposition. When it fails, they keep their
   * values.
   */
  beforeSnapshot(read: () => Promise<void>): void {
    this.#readings.push(read);
  }

  /** Exposes the metrics of worker processes too. They are read at each exposition. */
  include(read: () => Promise<readonly WorkerMetrics[]>): void {
    this.#workers.push(read);
  }

  #once<M extends Metric>(name: string, make: () => M): M {
    // A name has only one kind of metric; a second kind would be a programming error.
    return (this.registry.getSingleMetric(name) as M | undefined) ?? make();
  }
}

export type ExpositionType = PrometheusContentType | OpenMetricsContentType;

/**
 * The format that the Accept header asks for: OpenMetrics, which alone supports exemplars, or the
 * older text format.
 */
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

/**
 * Only the latest exemplar of a bucket is exposed. Storing more than one a second would cost more
 * than the observations.
 */
function exemplary(
  histogram: PromHistogram<string>,
  { labelNames, buckets }: { readonly labelNames: readonly string[]; readonly buckets: readonly number[] },
): Histogram<string> {
  /** When the next exemplar of a bucket is due, by its bound and label values. */
  const dueMs = new Map<string, number>();
  const exemplarFor = (labels: LabelValues<string>, value: number, measured: Span | string | undefined) => {
    if (measured === undefined) return undefined;
    const bucket = [buckets.find((bound) => value <= bound), ...labelNames.map((name) => labels[name])].join('\n');
    const nowMs = monotonicMs();
    if (nowMs < (dueMs.get(bucket) ?? 0)) return undefined;
    const exemplar = exemplarOf(measured);
    if (exemplar !== undefined) dueMs.set(bucket, nowMs + 1_000);
    return exemplar;
  };
  return {
    observe(labels, value, traceparent) {
      const exemplarLabels = exemplarFor(labels, value, traceparent ?? activeSpan());
      histogram.observe({ labels, value, ...(exemplarLabels && { exemplarLabels }) });
    },
  };
}

/**
 * Merges snapshots into one metric per name, in the registry's format. prom-client's own
 * aggregation drops exemplars and some metrics.
 */
function merged(snapshots: readonly MetricsSnapshot[]): readonly Metric[] {
  const byName = Map.groupBy(snapshots.flat(), ({ name }) => name);
  return [...byName.values()].map((same) => {
    const values = same.flatMap((each) => each.values);
    // A registry reads a metric by `get()`, after removing `_total` from the name of a counter.
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
