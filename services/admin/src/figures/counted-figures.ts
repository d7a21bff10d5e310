import type { Sample, Samples } from './prometheus-text.ts';

/** The number of events, by their kind. */
export type Counts = ReadonlyMap<string, number>;

/** Counts of the whole gateway, from counters and histograms of its replicas. */
export type Totals = Readonly<Record<CountedFigure, Counts>>;

export type CountedFigure = keyof typeof countedFigures;

type Labels = Sample['labels'];

/**
 * The metrics of each figure, and the key under which a sample counts. Undefined: the sample does
 * not count.
 */
const countedFigures = {
  requests: { metrics: ['http_server_request_duration_seconds_count'], keyOf: () => '' },
  errors: {
    metrics: ['http_server_request_duration_seconds_count'],
    keyOf: ({ http_response_status_code: status }: Labels) => (Number(status) >= 500 ? '' : undefined),
  },
  refusals: { metrics: ['gateway_refusals_total'], keyOf: ({ code }: Labels) => code },
  // Cached tokens are included in the input.
  tokens: {
    metrics: ['gateway_tokens_total'],
    keyOf: ({ gen_ai_token_type: type, gen_ai_request_model: model }: Labels) =>
      type === 'input' || type === 'output' ? model : undefined,
  },
  /** By the upper bound of their bucket, cumulatively. */
  firstTokens: { metrics: ['gen_ai_server_time_to_first_token_seconds_bucket'], keyOf: ({ le }: Labels) => le },
  poolExhausted: { metrics: ['gateway_pool_exhausted_total'], keyOf: ({ pool }: Labels) => pool },
  degradedLimits: { metrics: ['gateway_edge_local_admissions_total'], keyOf: () => '' },
  lostUsage: {
    metrics: ['gateway_edge_outbox_lost_events_total', 'gateway_edge_outbox_damaged_total'],
    keyOf: () => '',
  },
} as const satisfies Record<string, { metrics: readonly string[]; keyOf(labels: Labels): string | undefined }>;

export const countedMetrics: readonly string[] = Object.values(countedFigures).flatMap(({ metrics }) => metrics);

const figureNames = Object.keys(countedFigures) as readonly CountedFigure[];

export const noTotals: Totals = byFigure(() => new Map());

/**
 * Adds up what all replicas have counted since this process first saw them, across their restarts.
 * The first value of a replica is left out: its time is unknown.
 */
export class Counting {
  /** The last values of each replica's series. */
  #seen = new Map<string, Map<string, number>>();
  #totals = noTotals;

  /**
   * @param replicas all current replicas, by address. Undefined: the replica could not be read, and
   * will continue later.
   */
  add(replicas: ReadonlyMap<string, Samples | undefined>): Totals {
    const totals = byFigure((name) => new Map(this.#totals[name]));
    const seen = new Map<string, Map<string, number>>();
    for (const [address, samples] of replicas) {
      const before = this.#seen.get(address);
      const values = samples === undefined ? before : countInto(totals, samples, before);
      if (values !== undefined) seen.set(address, values);
    }
    this.#seen = seen;
    this.#totals = totals;
    return totals;
  }
}

function countInto(
  totals: Readonly<Record<CountedFigure, Map<string, number>>>,
  samples: Samples,
  before: ReadonlyMap<string, number> | undefined,
): Map<string, number> {
  const values = new Map<string, number>();
  for (const figure of figureNames) {
    const { metrics, keyOf } = countedFigures[figure];
    for (const { series, labels, value } of metrics.flatMap((name) => samples.get(name) ?? [])) {
      const key = keyOf(labels);
      if (key === undefined) continue;
      values.set(series, value);
      const counts = totals[figure];
      if (before !== undefined) counts.set(key, (counts.get(key) ?? 0) + growth(before.get(series) ?? 0, value));
    }
  }
  return values;
}

/** A counter that is smaller than before was reset to 0. */
function growth(before: number, now: number): number {
  return now < before ? now : now - before;
}

/** The counts between two totals. */
export function countedBetween(before: Totals, after: Totals): Totals {
  return byFigure(
    (name) => new Map(after[name].entries().map(([key, count]) => [key, count - (before[name].get(key) ?? 0)])),
  );
}

export function countOf(counts: Counts): number {
  return counts.values().reduce((sum, count) => sum + count, 0);
}

/**
 * A quantile of all observations, estimated within its bucket. Undefined if there are none.
 *
 * @param buckets cumulative counts by upper bounds, including "+Inf"
 */
export function quantileOf(buckets: Counts, part: number): number | undefined {
  const bounds = [...buckets]
    .map(([bound, count]) => ({ bound: bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), count }))
    .toSorted((one, other) => one.bound - other.bound);
  const rank = part * (bounds.at(-1)?.count ?? 0);
  const index = bounds.findIndex(({ count }) => count >= rank);
  const bucket = bounds[index];
  if (rank === 0 || bucket === undefined) return undefined;
  const below = bounds[index - 1] ?? { bound: 0, count: 0 };
  if (bucket.bound === Number.POSITIVE_INFINITY) return below.bound;
  return below.bound + ((rank - below.count) / (bucket.count - below.count)) * (bucket.bound - below.bound);
}

function byFigure<T>(make: (figure: CountedFigure) => T): Record<CountedFigure, T> {
  // Each figure has its value.
  return Object.fromEntries(figureNames.map((name) => [name, make(name)])) as Record<CountedFigure, T>;
}
