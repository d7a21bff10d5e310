import { describe, expect, it } from 'vitest';
import { backendUp } from './backends.ts';
import { expositionType, Metrics } from './metrics.ts';

const openMetrics = expositionType('application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3');

describe('metrics', () => {
  it('are the same one when asked for twice', async () => {
    const metrics = new Metrics();
    const options = { name: 'a_total', help: 'A.', labels: ['kind'] } as const;
    metrics.counter(options).inc({ kind: 'x' });
    metrics.counter(options).inc({ kind: 'x' });
    expect(await metrics.exposition()).toContain('a_total{kind="x"} 2\n');
  });

  it('are read when they are shown', async () => {
    const metrics = new Metrics();
    let bytes = 1;
    metrics.gauge({ name: 'a_bytes', help: 'A.', read: () => bytes });
    bytes = 2;
    expect(await metrics.exposition()).toContain('a_bytes 2\n');
  });

  it('say which servers of state were there when they were last used', async () => {
    const metrics = new Metrics();
    const isUp = backendUp(metrics, 'redis');
    backendUp(metrics, 'nats')(true);
    isUp(true);
    isUp(false);
    const text = await metrics.exposition();
    expect(text).toContain('gateway_backend_up{backend="redis"} 0\n');
    expect(text).toContain('gateway_backend_up{backend="nats"} 1\n');
    expect(text).not.toContain('postgres');
  });

  it('of a process have what Node says of it: once, also where several services ask', async () => {
    const text = await Metrics.ofProcess().exposition();
    for (const name of [
      'process_cpu_seconds_total',
      'nodejs_eventloop_lag_p99_seconds',
      'nodejs_heap_size_used_bytes',
    ]) {
      expect(text.match(new RegExp(`^${name} [0-9.e-]+$`, 'gm'))).toHaveLength(1);
    }
  });

  it('are shown as OpenMetrics to a reader that asks for it, under the same names', async () => {
    const metrics = new Metrics();
    metrics.counter({ name: 'a_total', help: 'A.' }).inc();
    metrics.gauge({ name: 'b', help: 'B.' }).set(1);
    const inText = '# HELP a_total A.\n# TYPE a_total counter\na_total 1\n\n# HELP b B.\n# TYPE b gauge\nb 1\n';
    expect(await metrics.exposition(expositionType('*/*'))).toBe(inText);
    expect(await metrics.exposition(openMetrics)).toBe(
      '# HELP a A.\n# TYPE a counter\na_total 1\n# HELP b B.\n# TYPE b gauge\nb 1\n# EOF\n',
    );
    // The exposition with exemplars did not change it.
    expect(await metrics.exposition()).toBe(inText);
  });

  it('are read together before they are shown, whatever else cannot be read', async () => {
    const metrics = new Metrics();
    const gauge = metrics.gauge({ name: 'b', help: 'B.' });
    metrics.beforeSnapshot(async () => expect.fail('it can not be read'));
    metrics.beforeSnapshot(async () => gauge.inc());
    expect(await metrics.exposition()).toContain('b 1\n');
    expect(await metrics.exposition()).toContain('b 2\n');
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

  it('are shown as OpenMetrics too, with the exemplars of workers', async () => {
    const own = new Metrics();
    own.counter({ name: 'a_total', help: 'A.', labels: ['kind'] }).inc({ kind: 'x' });
    const exemplar = { labelSet: { trace_id: 'abc' }, value: 1, timestamp: 1_700_000_000.5 };
    own.include(async () => [
      {
        worker: '1',
        metrics: (await snapshotOf(1)).map((metric) => ({
          ...metric,
          values: metric.values.map((value) => (value.labels.le === 1 ? { ...value, exemplar } : value)),
        })),
      },
    ]);
    const text = await own.exposition(openMetrics);
    expect(text).toContain('# TYPE a counter\na_total{kind="x"} 1\na_total{worker="1",kind="x y"} 1\n');
    expect(text).toContain('c_bucket{worker="1",le="1"} 1 # {trace_id="abc"} 1 1700000000.5\n');
    expect(text).toMatch(/\n# EOF\n$/);
  });

  it('include what only one of them has, such as when each began', async () => {
    const own = Metrics.ofProcess();
    own.include(async () => [{ worker: '1', metrics: structuredClone(await Metrics.ofProcess().snapshot()) }]);
    const text = await own.exposition();
    expect(text).toMatch(/^process_start_time_seconds \d+$/m);
    expect(text).toMatch(/^process_start_time_seconds\{worker="1"\} \d+$/m);
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
  metrics.histogram({ name: 'c', help: 'C.', buckets: [1] }).observe({}, count);
  // The snapshot as another process receives it.
  return structuredClone(await metrics.snapshot());
}
