import { formatCountOf } from '@gateway/presentation';
import type { Attention, OverviewPoint, WatchOverviewResponse } from '@gateway/proto/admin/v1/system_service_pb.js';

export interface OverviewState {
  readonly points: readonly OverviewPoint[];
  readonly attention: readonly Attention[];
}

const keptMs = 15 * 60_000;

/** Appends new points, replaces changed ones, and drops points older than fifteen minutes. */
export function joinOverview({ overview }: WatchOverviewResponse, before: OverviewState | undefined): OverviewState {
  const byTime = new Map((before?.points ?? []).map((point) => [point.atMs, point]));
  for (const point of overview?.points ?? []) byTime.set(point.atMs, point);
  const newestMs = Math.max(...byTime.keys());
  const points = [...byTime].filter(([ms]) => ms > newestMs - keptMs).toSorted(([one], [other]) => one - other);
  return { points: points.map(([, point]) => point), attention: overview?.attention ?? [] };
}

/** The names with the largest peaks, the largest first. The rest is added up as "other". */
export function largestOf(
  points: readonly OverviewPoint[],
  mapOf: (point: OverviewPoint) => Readonly<Record<string, number>>,
  most: number,
) {
  const peaks = new Map<string, number>();
  for (const point of points) {
    for (const [name, value] of Object.entries(mapOf(point))) peaks.set(name, Math.max(value, peaks.get(name) ?? 0));
  }
  const names = [...peaks].toSorted(([, one], [, other]) => other - one).map(([name]) => name);
  const shown = names.slice(0, most);
  const rest = names.slice(most);
  const lines = shown.map((name) => ({ label: name, values: points.map((point) => mapOf(point)[name] ?? 0) }));
  if (rest.length === 0) return lines;
  const sums = points.map((point) => rest.reduce((sum, name) => sum + (mapOf(point)[name] ?? 0), 0));
  return [...lines, { label: formatCountOf(rest.length, 'other'), values: sums }];
}
