import { describe, expect, it } from 'vitest';
import { mergeExpositions } from './merge-expositions.ts';
import { Metrics } from './metrics.ts';

async function expositionOf(count: number): Promise<string> {
  const metrics = new Metrics();
  metrics.counter({ name: 'a_total', help: 'A # of {things}.', labels: ['kind'] }).inc({ kind: 'x y' }, count);
  metrics.gauge({ name: 'b', help: 'B.' }).set(count);
  metrics.histogram({ name: 'c', help: 'C.', buckets: [1] }).observe(count);
  return metrics.exposition();
}

describe('the metrics of a process and its workers', () => {
  it('stand together by name, told apart by the worker', async () => {
    const own = new Metrics();
    own.gauge({ name: 'b', help: 'B.' }).set(7);
    const workers = [
      { worker: '1', text: await expositionOf(1) },
      { worker: '2', text: await expositionOf(2) },
    ];
    expect(mergeExpositions(await own.exposition(), workers)).toBe(`# HELP b B.
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

  it('are what they were when there are no workers', async () => {
    const own = await expositionOf(3);
    expect(mergeExpositions(own, [])).toBe(own);
  });

  it('include those of workers that answer when they are read', async () => {
    const own = new Metrics();
    let workers = 1;
    own.include(async () =>
      Promise.all(
        Array.from({ length: workers }, async (_, index) => ({ worker: `${index + 1}`, text: await expositionOf(1) })),
      ),
    );
    expect(await own.exposition()).not.toContain('worker="2"');
    workers = 2;
    expect(await own.exposition()).toContain('b{worker="2"} 1\n');
  });
});
