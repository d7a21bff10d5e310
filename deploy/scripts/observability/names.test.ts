import { describe, expect, it } from 'vitest';
import { documentedMetrics, seriesOf } from './__fixtures__/documented-metrics.ts';
import { type Selector, selectorsIn, withoutVariables } from './__fixtures__/promql.ts';
import { allAlerts } from './alerts/all-alerts.ts';
import { dashboards } from './dashboards/all-dashboards.ts';
import { recordings } from './recordings.ts';

/** Labels that Prometheus adds for the target, and for processes that are one target. */
const labelsOfTargets = ['namespace', 'job', 'instance', 'worker'];
/** Series that Prometheus makes itself. */
const ownSeries = ['up', 'ALERTS'];

/** Documented for queries of one's own: a panel would not help. */
const unseen = [
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_virtual_memory_bytes',
  'process_heap_bytes',
  'nodejs_version_info',
  // gatewayctl doctor compares clocks: in a graph the offset is a straight line.
  'gateway_clock_timestamp_seconds',
  /^nodejs_eventloop_lag(_min|_mean|_stddev|_p50|_p90)?_seconds$/,
  /^nodejs_active_(resources|handles|requests)(_total)?$/,
  /^nodejs_heap_space_size_(total|used|available)_bytes$/,
];

const recorded = recordings.flatMap(({ rules }) => rules.map(({ record }) => record));
const ofRules = [...recordings.flatMap(({ rules }) => rules), ...allAlerts].map(({ expr }) => expr);
const ofPanels = dashboards.flatMap(({ rows }) =>
  rows.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => withoutVariables(expr)))),
);
const ofVariables = dashboards.flatMap(({ variables = [] }) =>
  variables.map(({ metric, labelName }): Selector => ({ metric, labels: [labelName] })),
);
const ofCases = allAlerts.flatMap(({ cases }) => cases.flatMap(({ series }) => Object.keys(series)));

describe('the names of metrics', () => {
  it('are read from the documentation', async () => {
    const metrics = await documentedMetrics();
    expect(metrics.length).toBeGreaterThan(100);
    expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
    expect(new Set(metrics.map(({ type }) => type))).toEqual(new Set(['counter', 'gauge', 'histogram']));
  });

  it.each([
    ['rules', () => ofRules.flatMap(selectorsIn)],
    ['dashboards', () => [...ofPanels.flatMap(selectorsIn), ...ofVariables]],
    ['cases of alerts', () => ofCases.flatMap(selectorsIn)],
  ])('in %s are documented, with the labels that are asked for', async (_, selectors) => {
    const known = new Map((await documentedMetrics()).flatMap(seriesOf).map(({ name, labels }) => [name, labels]));
    const unknown = selectors().filter(({ metric, labels }) => {
      if (ownSeries.includes(metric)) return false;
      if (recorded.includes(metric)) return labels.some((label) => label !== 'namespace');
      const documented = known.get(metric);
      return documented === undefined || labels.some((label) => ![...documented, ...labelsOfTargets].includes(label));
    });
    expect(unknown).toEqual([]);
  });

  it('that are documented are seen in a dashboard, but for those that only details have', async () => {
    const seen = new Set(ofPanels.flatMap(selectorsIn).map(({ metric }) => metric));
    const isMeantUnseen = (name: string) =>
      unseen.some((each) => (typeof each === 'string' ? each === name : each.test(name)));
    const metrics = await documentedMetrics();
    const missing = metrics.filter((metric) => !seriesOf(metric).some(({ name }) => seen.has(name)));
    expect(missing.map(({ name }) => name).filter((name) => !isMeantUnseen(name))).toEqual([]);
    expect(metrics.filter((metric) => isMeantUnseen(metric.name) && seen.has(metric.name))).toEqual([]);
  });

  it('end as their type and unit demand', async () => {
    const wrong = (await documentedMetrics()).filter(({ name, type }) => {
      // Gauges of prom-client with names that end in "total".
      if (/^nodejs_active_\w+_total$/.test(name)) return false;
      return (type === 'counter') !== name.endsWith('_total');
    });
    expect(wrong).toEqual([]);
  });

  it('of recorded series are used', () => {
    const used = new Set([...ofRules, ...ofPanels].flatMap(selectorsIn).map(({ metric }) => metric));
    expect(recorded.filter((name) => !used.has(name) && !/ratio(30m|1h|2h|6h|1d|3d|5m)$/.test(name))).toEqual([]);
  });
});
