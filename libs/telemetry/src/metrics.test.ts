import { describe, expect, it } from 'vitest';
import { Metrics } from './metrics.ts';

describe('metrics', () => {
  it('are the same one when asked for twice', async () => {
    const metrics = new Metrics();
    const options = { name: 'a_total', help: 'A.', labels: ['kind'] } as const;
    metrics.counter(options).inc({ kind: 'x' });
    metrics.counter(options).inc({ kind: 'x' });
    expect(await metrics.exposition()).toContain('a_total{kind="x"} 2\n');
  });
});

describe('the metrics of a process and its workers', () => {
  it('stand together by name, and have the label worker', async () => {
    const own = new Metrics();
    own.gauge({ name: 'b', help: 'B.' }).set(7);
    own.include(async () => [
      { worker: '1', metrics: await snapshotOf(1) },
      { worker: '2', metrics: await snapshotOf(2) },
    ]);
    expect(await own.exposition()).toBe(`# HELP b B.
# TYPE b gauge
b 7
b{worker="1"} 1
b{worker="2"} 2

# HELP a_total A # of {things}.
# TYPE a_total counter
a_total{worker="1",kind="x y"} 1
a_total{worker="2",kind="x y"} 2

# HELP c C.
# TYPE c histogram
c_bucket{worker="1",le="1"} 1
c_bucket{worker="1",le="+Inf"} 1
c_sum{worker="1"} 1
c_count{worker="1"} 1
c_bucket{worker="2",le="1"} 0
c_bucket{worker="2",le="+Inf"} 1
c_sum{worker="2"} 2
c_count{worker="2"} 1
`);
  });

  it('include those of workers that answer when they are read', async () => {
    const own = new Metrics();
    let workers = 1;
    own.include(async () =>
      Promise.all(
        Array.from({ length: workers }, async (_, index) => ({
          worker: `${index + 1}`,
          metrics: await snapshotOf(1),
        })),
      ),
    );
    expect(await own.exposition()).not.toContain('worker="2"');
    workers = 2;
    expect(await own.exposition()).toContain('b{worker="2"} 1\n');
  });
});

async function snapshotOf(count: number) {
  const metrics = new Metrics();
  metrics.counter({ name: 'a_total', help: 'A # of {things}.', labels: ['kind'] }).inc({ kind: 'x y' }, count);
  metrics.gauge({ name: 'b', help: 'B.' }).set(count);
  metrics.histogram({ name: 'c', help: 'C.', buckets: [1] }).observe(count);
  // As it arrives from another process.
  return structuredClone(await metrics.snapshot());
}
