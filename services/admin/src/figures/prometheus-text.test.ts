import { Metrics } from '@gateway/telemetry';
import { expect, it } from 'vitest';
import { maxOf, parseMetrics, sumOf } from './prometheus-text.ts';

it('reads only the requested metrics of a replica', async () => {
  const metrics = new Metrics();
  const counter = metrics.counter({ name: 'refusals_total', help: 'A "help" {with} all.', labels: ['code'] });
  counter.inc({ code: 'a "quoted" } \\ name\n' }, 3);
  counter.inc({ code: 'b' }, 0.5);
  metrics.counter({ name: 'refusals_total_other', help: 'Not asked for.' }).inc(7);
  metrics.histogram({ name: 'took_seconds', help: 'Buckets.', buckets: [0.5] }).observe({}, 0.1);
  const samples = parseMetrics(await metrics.exposition(), new Set(['refusals_total', 'took_seconds_bucket']));
  expect([...samples.keys()]).toEqual(['refusals_total', 'took_seconds_bucket']);
  expect(samples.get('refusals_total')).toMatchObject([
    { labels: { code: 'a "quoted" } \\ name\n' }, value: 3 },
    { labels: { code: 'b' }, value: 0.5, series: 'refusals_total{code="b"}' },
  ]);
  expect(samples.get('took_seconds_bucket')).toMatchObject([
    { labels: { le: '0.5' }, value: 1 },
    { labels: { le: '+Inf' }, value: 1 },
  ]);
  expect(sumOf(samples, 'refusals_total')).toBe(3.5);
  expect(maxOf(samples, 'refusals_total')).toBe(3);
  expect(sumOf(samples, 'allowances_total')).toBeUndefined();
});

it('skips invalid lines, and accepts timestamps, infinities and a missing line end', () => {
  const text = '# TYPE a gauge\na 1 1700000000000\na{x="1"} +Inf\na{x="2"} NaN\na\na{x="3"} many\r\n\na{x="4"} 2';
  const samples = parseMetrics(text, new Set(['a']));
  expect(samples.get('a')?.map(({ value }) => value)).toEqual([1, Number.POSITIVE_INFINITY, Number.NaN, 2]);
  expect(sumOf(samples, 'a')).toBe(3);
});
