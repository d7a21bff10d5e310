import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promtool } from '@gateway/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { selectorsIn, withoutVariables } from '../__fixtures__/promql.ts';
import { allAlerts } from '../alerts/all-alerts.ts';
import { dashboards } from './all-dashboards.ts';

const gridPosition = z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() });
const source = z.object({ type: z.literal('prometheus'), uid: z.literal(`\${datasource}`) });
const panel = z.object({
  id: z.number(),
  type: z.string(),
  title: z.string().min(3),
  description: z.string().optional(),
  gridPos: gridPosition,
  datasource: source.optional(),
  fieldConfig: z.object({ defaults: z.object({ unit: z.string().optional() }) }).optional(),
  links: z.array(z.object({ url: z.string() })).default([]),
  targets: z.array(z.object({ expr: z.string().min(1), refId: z.string(), datasource: source })).default([]),
});
const dashboard = z.object({
  uid: z.string().regex(/^gateway-/),
  title: z.string(),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(panel),
  tags: z.array(z.string()),
});

describe.each(dashboards.map(({ file }) => file))('%s', (file) => {
  const read = async () =>
    dashboard.parse(
      JSON.parse(await readFile(join(import.meta.dirname, '../../../observability/grafana', file), 'utf8')),
    );

  it('has panels that say what they show, each with an id of its own', async () => {
    const { panels } = await read();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const shown = panels.filter(({ type }) => type !== 'row');
    expect(shown.length).toBeGreaterThan(8);
    for (const { title, description, targets, datasource, fieldConfig, type } of shown) {
      expect((description ?? '').length, title).toBeGreaterThan(5);
      expect(targets.length, title).toBeGreaterThan(0);
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length);
      expect(datasource, title).toBeDefined();
      if (type !== 'heatmap') expect(fieldConfig?.defaults.unit, title).toBeTruthy();
    }
  });

  it('has no panel on another, and none beyond the edge', async () => {
    const taken = new Map<string, string>();
    for (const { title, gridPos } of (await read()).panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.get(`${x},${y}`), `${title} at ${x},${y}`).toBeUndefined();
          taken.set(`${x},${y}`, title);
        }
      }
    }
  });

  it('has variables for Prometheus, service and instance', async () => {
    const { templating, panels } = await read();
    const names = templating.list.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['datasource', 'namespace', 'job', 'instance', 'runbooks']));
    const used = panels.flatMap(({ targets }) =>
      targets.flatMap(({ expr }) => [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name)),
    );
    expect(used.filter((name) => name !== '__rate_interval' && !names.includes(name ?? ''))).toEqual([]);
    // All selectors except recorded series, which have no job and instance, and alerts.
    const free = panels
      .flatMap(({ targets }) => targets.flatMap(({ expr }) => selectorsIn(withoutVariables(expr))))
      .filter(({ metric }) => !metric.includes(':') && metric !== 'ALERTS')
      .filter(({ labels }) => !['namespace', 'job', 'instance'].every((label) => labels.includes(label)));
    expect(free).toEqual([]);
  });

  it('has only valid PromQL', async () => {
    const { panels } = await read();
    const place = await mkdtemp(join(tmpdir(), 'dashboard-'));
    onTestFinished(() => rm(place, { recursive: true }));
    const rules = panels
      .flatMap(({ targets }) => targets)
      .map(({ expr }, index) => ({ record: `panel:${index}`, expr: withoutVariables(expr) }));
    await writeFile(join(place, 'rules.yaml'), stringify({ groups: [{ name: 'panels', rules }] }));
    expect(await promtool(['check', 'rules', join(place, 'rules.yaml')])).toContain(`${rules.length} rules found`);
  });

  it('links runbooks that there are', async () => {
    const runbooks = (await read()).panels.flatMap(({ links }) => links.map(({ url }) => url));
    const names = new Set(allAlerts.map(({ name }) => `\${runbooks:raw}/${name}.md`));
    expect(runbooks.length).toBeGreaterThan(0);
    expect(runbooks.filter((url) => !names.has(url))).toEqual([]);
  });
});

it('every alert has a panel that links its runbook', () => {
  const linked = new Set(
    dashboards.flatMap(({ rows }) => rows.flatMap(({ panels }) => panels.flatMap(({ alerts = [] }) => alerts))),
  );
  expect(allAlerts.map(({ name }) => name).filter((name) => !linked.has(name))).toEqual([]);
});
