import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';

/** An expression for Prometheus. */
export interface Expression {
  /** Its source: the alert, the recorded name, or dashboard and panel. */
  readonly of: string;
  readonly text: string;
}

export interface Rules {
  readonly alerts: readonly Expression[];
  /** `of` is the name of the recorded series. */
  readonly recordings: readonly Expression[];
}

/** The values of a label that can be chosen in a dashboard. */
export interface DashboardVariable {
  readonly dashboard: string;
  readonly name: string;
  /** A selector of series that have the label. */
  readonly selector: string;
  readonly label: string;
  /** The value of "All"; undefined: any of the values. */
  readonly allValue: string | undefined;
}

export const observabilityFolder = fileURLToPath(new URL('../../deploy/observability', import.meta.url));

export const rulesPath = join(observabilityFolder, 'prometheus/rules.yaml');

export function readRules(): Rules {
  const { groups } = ruleFile.parse(parse(readFileSync(rulesPath, 'utf8')));
  const rules = groups.flatMap((group) => group.rules);
  return {
    alerts: rules.flatMap(({ alert, expr }) => (alert === undefined ? [] : [{ of: alert, text: expr }])),
    recordings: rules.flatMap(({ record, expr }) => (record === undefined ? [] : [{ of: record, text: expr }])),
  };
}

/** Every expression of every panel, with Grafana's variables. */
export function readPanels(): readonly Expression[] {
  return dashboards().flatMap(({ name, json }) =>
    panelsIn(json).flatMap(({ title, targets }) =>
      targets.map(({ expr }) => ({ of: `${name}: ${title ?? 'untitled'}`, text: expr })),
    ),
  );
}

export function readVariables(): readonly DashboardVariable[] {
  return dashboards().flatMap(({ name: dashboard, json }) =>
    dashboardFile.parse(json).templating.list.flatMap(({ name, type, query, allValue }) => {
      if (type !== 'query') return [];
      const text = typeof query === 'string' ? query : z.object({ query: z.string() }).parse(query).query;
      const [, selector = '', label = ''] = /^label_values\((.+),\s*(\w+)\)$/.exec(text) ?? [];
      if (label === '') throw new Error(`${dashboard}: ${text} is no label_values(series, label)`);
      return [{ dashboard, name, selector, label, allValue: allValue ?? undefined }];
    }),
  );
}

function dashboards() {
  const paths = globSync(join(observabilityFolder, 'grafana/**/*.json')).toSorted();
  return paths.map((path): { readonly name: string; readonly json: unknown } => ({
    name: basename(path, '.json'),
    json: JSON.parse(readFileSync(path, 'utf8')),
  }));
}

/** Panels are directly in the dashboard, or in its rows. */
function panelsIn(json: unknown): readonly z.infer<typeof panel>[] {
  return panelList.parse(json).panels.flatMap((each) => [panel.parse(each), ...panelsIn(each)]);
}

const ruleFile = z.object({
  groups: z.array(
    z.object({
      rules: z.array(z.object({ alert: z.string().optional(), record: z.string().optional(), expr: z.string() })),
    }),
  ),
});

const panelList = z.object({ panels: z.array(z.unknown()).default([]) });

const panel = z.object({
  title: z.string().optional(),
  targets: z.array(z.object({ expr: z.string() })).default([]),
});

const dashboardFile = z.object({
  templating: z.object({
    list: z.array(z.object({ name: z.string(), type: z.string(), query: z.unknown(), allValue: z.string().nullish() })),
  }),
});
