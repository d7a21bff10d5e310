import { create } from '@bufbuild/protobuf';
import { type OverviewPoint, OverviewPointSchema } from '@gateway/proto/admin/v1/system_service_pb.js';
import {
  type CountedFigure,
  type Counts,
  countedBetween,
  countOf,
  quantileOf,
  type Totals,
} from './counted-figures.ts';

/** The duration of one point. */
export const pointMs = 10_000;
/** How long figures are kept. */
const keptMs = 15 * 60_000;

interface Snapshot {
  readonly atMs: number;
  readonly totals: Totals;
}

/** The figures of the gateway in the last fifteen minutes. */
export class FigureHistory {
  /** Oldest first. Recent ones are closer together. */
  #snapshots: readonly Snapshot[] = [];
  #points: readonly OverviewPoint[] = [];

  /**
   * Oldest first. A point is identified by its time, at which its ten seconds begin. The last one
   * changes until they are over.
   */
  get points(): readonly OverviewPoint[] {
    return this.#points;
  }

  add({ atMs, totals, openStreams }: Snapshot & { readonly openStreams: number }): void {
    const before = this.#snapshots.findLast((each) => each.atMs <= atMs - pointMs) ?? this.#snapshots[0];
    if (before !== undefined) {
      const point = pointBetween(before, { atMs, totals }, openStreams);
      this.#points = [...this.#points.filter((each) => !isOver(each, atMs) && !isSameTime(each, point)), point];
    }
    const spread = [...this.#snapshots, { atMs, totals }].filter(
      (each, index, all) => each.atMs > atMs - 2 * pointMs || slotOf(each.atMs) !== slotOf(all[index - 1]?.atMs ?? 0),
    );
    this.#snapshots = spread.filter((each) => each.atMs > atMs - keptMs);
  }

  /** The counts of a recent period. */
  counted(figure: CountedFigure, lastMs: number): Counts {
    const last = this.#snapshots.at(-1);
    const first = this.#snapshots.find(({ atMs }) => last !== undefined && atMs >= last.atMs - lastMs);
    if (last === undefined || first === undefined) return new Map();
    return countedBetween(first.totals, last.totals)[figure];
  }
}

function pointBetween(before: Snapshot, now: Snapshot, openStreams: number): OverviewPoint {
  const counted = countedBetween(before.totals, now.totals);
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1_000);
  const perMinute = (counts: Counts) =>
    Object.fromEntries(
      [...counts].filter(([, count]) => count > 0).map(([key, count]) => [key, (count / seconds) * 60]),
    );
  const p50 = quantileOf(counted.firstTokens, 0.5);
  const p95 = quantileOf(counted.firstTokens, 0.95);
  return create(OverviewPointSchema, {
    atMs: slotOf(now.atMs) * pointMs,
    requestsPerSecond: countOf(counted.requests) / seconds,
    errorsPerSecond: countOf(counted.errors) / seconds,
    refusalsPerSecond: countOf(counted.refusals) / seconds,
    ...(p50 === undefined ? {} : { firstTokenP50Seconds: p50 }),
    ...(p95 === undefined ? {} : { firstTokenP95Seconds: p95 }),
    tokensPerMinuteByModel: perMinute(counted.tokens),
    refusalsPerMinuteByCode: perMinute(counted.refusals),
    openStreams: Math.max(0, Math.round(openStreams)),
  });
}

function slotOf(atMs: number): number {
  return Math.floor(atMs / pointMs);
}

function isOver({ atMs }: OverviewPoint, nowMs: number): boolean {
  return atMs <= nowMs - keptMs;
}

function isSameTime(one: OverviewPoint, other: OverviewPoint): boolean {
  return one.atMs === other.atMs;
}
