import { type Metric, Registry } from 'prom-client';
import { Counter, Gauge, Histogram } from './bound-metrics.ts';
import { mergeExpositions, type WorkerExposition } from './merge-expositions.ts';

interface Naming<L extends string> {
  /** Prometheus name with its unit: `gateway_requests_total`, `gateway_request_duration_seconds`. */
  readonly name: string;
  readonly help: string;
  /** Names of few possible values each: no ids, no models that clients make up. */
  readonly labels?: readonly L[];
}

/** The metrics of one process. Asking twice for a name gives the same metric, so that services can share a process. */
export class Metrics {
  readonly registry = new Registry();
  readonly #workers: (() => Promise<readonly WorkerExposition[]>)[] = [];

  counter<L extends string = never>({ name, help, labels = [] }: Naming<L>): Counter<L> {
    return this.#existing<Counter<L>>(name) ?? this.#added(new Counter({ name, help, labelNames: [...labels] }));
  }

  gauge<L extends string = never>({ name, help, labels = [] }: Naming<L>): Gauge<L> {
    return this.#existing<Gauge<L>>(name) ?? this.#added(new Gauge({ name, help, labelNames: [...labels] }));
  }

  histogram<L extends string = never>({
    name,
    help,
    labels = [],
    buckets,
  }: Naming<L> & { readonly buckets: readonly number[] }): Histogram<L> {
    return (
      this.#existing<Histogram<L>>(name) ??
      this.#added(new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets] }))
    );
  }

  /** The text that Prometheus reads: of this process, and of the workers that are included. */
  async exposition(): Promise<string> {
    const workers = await Promise.all(this.#workers.map((expositions) => expositions()));
    return mergeExpositions(await this.registry.metrics(), workers.flat());
  }

  /** Shows the metrics of further processes too, as they are when somebody reads. */
  include(expositions: () => Promise<readonly WorkerExposition[]>): void {
    this.#workers.push(expositions);
  }

  #added<M extends Metric>(metric: M): M {
    this.registry.registerMetric(metric);
    return metric;
  }

  #existing<M>(name: string): M | undefined {
    // A name is registered with one kind only; a second kind under it would be a mistake of ours that prom-client reports.
    return this.registry.getSingleMetric(name) as M | undefined;
  }
}

/** Buckets for durations of calls and requests, in seconds: 1 ms to 10 minutes. */
export const durationBucketsSeconds = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600,
];
