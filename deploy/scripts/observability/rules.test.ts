import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promtool } from '@gateway/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { alertGroups, allAlerts } from './alerts/all-alerts.ts';
import { dashboards } from './dashboards/all-dashboards.ts';
import { recordings } from './recordings.ts';
import { defaultRunbooks, rulesFile, ruleTestFiles, runbookOf } from './rule-files.ts';
import { scrapeConfigFiles } from './scrape-configs.ts';

const repository = join(import.meta.dirname, '../../..');
const folder = join(repository, 'deploy/observability/prometheus');
const runbooks = 'docs/operate/runbooks';
const ruleTests = [...ruleTestFiles(runbooks).keys()];
const alertNames = [...new Set(allAlerts.map(({ name }) => name))];

describe('the rules of Prometheus', () => {
  it('are rules to promtool', async () => {
    expect(await promtool(['check', 'rules', join(folder, 'rules.yaml')])).toContain('SUCCESS');
  });

  it('link the runbook of each alert by a full address', async () => {
    const rules = await readFile(join(folder, 'rules.yaml'), 'utf8');
    const links = [...rules.matchAll(/runbook_url: (.*)/g)].map(([, link]) => link);
    expect(links.map((link) => URL.parse(link ?? '')?.protocol)).toEqual(allAlerts.map(() => 'https:'));
    expect(links).toEqual(
      Object.values(alertGroups).flatMap((alerts) => alerts.map(({ name }) => runbookOf(name, defaultRunbooks))),
    );
  });

  // Some seconds each, and more on a busy machine.
  it.each(ruleTests)('do what their cases say: %s', async (file) => {
    expect(await promtool(['test', 'rules', join(folder, file)])).toContain('SUCCESS');
  });

  it('distinguish gateways of one cluster in every aggregation', () => {
    const exprs = [...recordings.flatMap(({ rules }) => rules), ...allAlerts].map(({ expr }) => expr);
    const groups = exprs.flatMap((expr) => [...expr.matchAll(/\b(?:by|on|without|ignoring) \(([^)]*)\)/g)]);
    expect(groups.length).toBeGreaterThan(20);
    expect(groups.filter(([, labels = '']) => !labels.split(', ').includes('namespace'))).toEqual([]);
    expect(exprs.filter((expr) => /\b(sum|max|min|count|avg) ?\(/.test(expr))).toEqual([]);
  });

  it.each(allAlerts.map((alert) => [`${alert.name} (${alert.severity})`, alert] as const))(
    '%s has cases in which it fires, ends and is silent',
    (_, { cases }) => {
      const firing = cases.filter(({ moments }) => moments.some((moment) => moment.firing.length > 0));
      const ends = firing.filter(({ moments }) => moments.at(-1)?.firing.length === 0);
      const waits = firing.filter(({ moments }) => moments[0]?.firing.length === 0);
      const silent = cases.filter(({ moments }) => moments.every((moment) => moment.firing.length === 0));
      expect({ ends: ends.length > 0, waits: waits.length > 0, silent: silent.length > 0 }).toEqual({
        ends: true,
        waits: true,
        silent: true,
      });
      for (const { moments } of cases) expect(moments.length).toBeGreaterThan(0);
    },
  );

  it('would fail a case with an alert that never fires, and with one that always does', async () => {
    const [alert] = allAlerts.filter(({ name }) => name === 'GatewayPoolExhausted');
    if (alert === undefined) throw new Error('GatewayPoolExhausted is gone');
    for (const expr of ['vector(1) > 2', 'vector(1)']) {
      const changed = await mkdtemp(join(tmpdir(), 'rules-'));
      onTestFinished(() => rm(changed, { recursive: true }));
      const rules = rulesFile(runbooks).replace(JSON.stringify(alert.expr).slice(1, -1), expr);
      expect(rules).not.toBe(rulesFile(runbooks));
      await writeFile(join(changed, 'rules.yaml'), rules);
      const [[name, tests] = ['', '']] = ruleTestFiles(runbooks, [alert]);
      await writeFile(join(changed, name), tests);
      await expect(promtool(['test', 'rules', join(changed, name)])).rejects.toThrow('FAILED');
    }
  });
});

describe('the runbooks', () => {
  it.each(alertNames)('%s has one, which says what to do', (name) => {
    const path = join(repository, runbookOf(name, runbooks));
    expect(existsSync(path), path).toBe(true);
    const text = readFileSync(path, 'utf8');
    expect(text).toContain(`# ${name}\n`);
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['What it means', 'What users see', 'Diagnose', 'Fix', 'Resolved when']);
  });

  it('name panels that there are', async () => {
    const titles = dashboards.flatMap(({ rows }) => rows.flatMap(({ panels }) => panels.map(({ title }) => title)));
    const named = await Promise.all(
      alertNames.map(async (name) => {
        const text = await readFile(join(repository, runbookOf(name, runbooks)), 'utf8');
        // Series of Prometheus itself are left out.
        const panels = text.replaceAll(/Prometheus › Status › Targets/g, '').matchAll(/› ([A-Z][^,.;:()|›\n]*)/g);
        return [...panels].map(([, panel = '']) => panel.trim());
      }),
    );
    expect(named.flat().length).toBeGreaterThan(50);
    const isKnown = (panel: string) => titles.some((title) => title.startsWith(panel) || panel.startsWith(title));
    expect(named.flat().filter((panel) => !isKnown(panel))).toEqual([]);
  });

  it('are all listed, and there is none without an alert', async () => {
    const list = await readFile(join(repository, runbooks, 'README.md'), 'utf8');
    const linked = [...list.matchAll(/\]\((Gateway\w+)\.md\)/g)].map(([, name]) => name);
    expect(linked.toSorted()).toEqual(alertNames.toSorted());
  });
});

describe('the scrape configurations', () => {
  it.each([...scrapeConfigFiles().keys()])('%s is one to promtool', async (file) => {
    const text = await readFile(join(folder, file), 'utf8');
    const place = await mkdtemp(join(tmpdir(), 'prometheus-'));
    onTestFinished(() => rm(place, { recursive: true }));
    // Debian's Prometheus is built without Kubernetes.
    const known = text.replaceAll(/kubernetes_sd_configs:\n +- role: pod/g, 'static_configs:\n      - targets: [pod]');
    await writeFile(join(place, file), known);
    expect(await promtool(['check', 'config', '--syntax-only', join(place, file)])).toContain('SUCCESS');
  });
});
