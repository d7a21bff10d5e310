import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Metrics } from './metrics.ts';

const linesOf = async (metrics: Metrics) =>
  (await metrics.exposition()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('metrics', () => {
  it('are the same one when asked for twice', async () => {
    const metrics = new Metrics();
    const naming = { name: 'a_total', help: 'A.', labels: ['kind'] } as const;
    metrics.counter(naming).inc({ kind: 'x' });
    metrics.counter(naming).inc({ kind: 'x' });
    expect(await linesOf(metrics)).toEqual(['a_total{kind="x"} 2']);
  });

  it('show a label set from when it was bound', async () => {
    const metrics = new Metrics();
    metrics.counter({ name: 'a_total', help: 'A.', labels: ['kind'] }).with({ kind: 'x' });
    expect(await linesOf(metrics)).toEqual(['a_total{kind="x"} 0']);
  });

  it('add up what is counted bound, bound again and unbound, however often they are read', async () => {
    const step = fc.record({
      by: fc.constantFrom('bound', 'other', 'unbound', 'read'),
      kind: fc.constantFrom<('x' | 'y')[]>('x', 'y'),
      count: fc.nat(5),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const metrics = new Metrics();
        const counter = metrics.counter({ name: 'a_total', help: 'A.', labels: ['kind'] });
        const bound = { x: counter.with({ kind: 'x' }), y: counter.with({ kind: 'y' }) };
        const other = { x: counter.with({ kind: 'x' }), y: counter.with({ kind: 'y' }) };
        const expected = { x: 0, y: 0 };
        for (const { by, kind, count } of steps) {
          if (by === 'read') await metrics.exposition();
          else expected[kind] += count;
          if (by === 'bound') bound[kind].inc(count);
          if (by === 'other') other[kind].inc(count);
          if (by === 'unbound') counter.inc({ kind }, count);
        }
        expect(await linesOf(metrics)).toEqual([`a_total{kind="x"} ${expected.x}`, `a_total{kind="y"} ${expected.y}`]);
      }),
    );
  });

  it('let a bound gauge go up and down', async () => {
    const metrics = new Metrics();
    const open = metrics.gauge({ name: 'open', help: 'Open.', labels: ['kind'] }).with({ kind: 'x' });
    open.inc();
    open.inc(2);
    expect(await linesOf(metrics)).toEqual(['open{kind="x"} 3']);
    open.dec();
    expect(await linesOf(metrics)).toEqual(['open{kind="x"} 2']);
  });

  it('sort what a bound histogram observed into its buckets, many at once too', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(30), { maxLength: 2_500, size: 'max' }), async (observed) => {
        const metrics = new Metrics();
        const histogram = metrics.histogram({ name: 'size', help: 'Size.', labels: ['kind'], buckets: [10, 20] });
        const bound = histogram.with({ kind: 'x' });
        for (const value of observed) bound.observe(value);
        histogram.observe({ kind: 'x' }, 15);
        const upTo = (most: number) => [...observed, 15].filter((value) => value <= most).length;
        const expected = [
          `size_bucket{le="10",kind="x"} ${upTo(10)}`,
          `size_bucket{le="20",kind="x"} ${upTo(20)}`,
          `size_bucket{le="+Inf",kind="x"} ${upTo(99)}`,
          `size_sum{kind="x"} ${observed.reduce((sum, value) => sum + value, 15)}`,
          `size_count{kind="x"} ${observed.length + 1}`,
        ];
        expect(await linesOf(metrics)).toEqual(expected);
        expect(await linesOf(metrics)).toEqual(expected);
      }),
    );
  });
});
