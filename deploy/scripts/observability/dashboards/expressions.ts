import { chosen } from './dashboard.ts';

/** The rate of a counter, summed over all series with the same labels. */
export function rate(metric: string, by: readonly string[] = [], matchers = ''): string {
  return `sum${grouped(by)}(rate(${metric}{${all(matchers)}}[$__rate_interval]))`;
}

/** The increase of a counter within the range of one point. */
export function increase(metric: string, by: readonly string[] = [], matchers = ''): string {
  return `sum${grouped(by)}(increase(${metric}{${all(matchers)}}[$__rate_interval]))`;
}

/** A percentile of a histogram. */
export function quantile(share: number, histogram: string, by: readonly string[] = [], matchers = ''): string {
  return `histogram_quantile(${share}, ${rate(`${histogram}_bucket`, ['le', ...by], matchers)})`;
}

export function mean(histogram: string, by: readonly string[] = [], matchers = ''): string {
  return `${rate(`${histogram}_sum`, by, matchers)} / ${rate(`${histogram}_count`, by, matchers)}`;
}

/** A gauge over all series with the same labels: `max` if replicas report the same. */
export function gauge(how: 'sum' | 'max' | 'min', metric: string, by: readonly string[] = [], matchers = ''): string {
  return `${how}${grouped(by)}(${metric}{${all(matchers)}})`;
}

function all(matchers: string): string {
  return matchers === '' ? chosen : `${chosen},${matchers}`;
}

function grouped(by: readonly string[]): string {
  return by.length === 0 ? '' : ` by (${by.join(', ')}) `;
}
