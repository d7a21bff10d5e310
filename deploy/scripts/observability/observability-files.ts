import { dashboards } from './dashboards/all-dashboards.ts';
import { dashboardOf } from './dashboards/dashboard.ts';
import { rulesFile, ruleTestFiles } from './rule-files.ts';

const header = '# Written by `npm run generate:observability` from deploy/scripts/observability. Change it there.\n';

/** What deploy/observability holds: the text of each file by its path. */
export function observabilityFiles(runbooks = 'docs/operate/runbooks'): ReadonlyMap<string, string> {
  return new Map([
    ...dashboards.map(
      (each) => [`grafana/${each.file}`, `${JSON.stringify(dashboardOf(each, runbooks), null, 2)}\n`] as const,
    ),
    ['prometheus/rules.yaml', header + rulesFile(runbooks)],
    ...[...ruleTestFiles(runbooks)].map(([name, text]) => [`prometheus/${name}`, header + text] as const),
  ]);
}
