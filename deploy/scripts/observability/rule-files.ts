import { documentText } from '../kubernetes/yaml-text.ts';
import type { Alert, AlertCase, Firing, Moment, Pace } from './alerts/alert.ts';
import { alertGroups, allAlerts } from './alerts/all-alerts.ts';
import { recordings } from './recordings.ts';

/** The address of the folder of runbooks on a Git host, which displays Markdown. */
export type RunbookAddress = string;

/** Stands for the address of an operator's own copy of the docs. */
export const defaultRunbooks: RunbookAddress = 'https://git.example.com/model-gateway/blob/main/docs/operate/runbooks';

/** The file that Prometheus loads. */
export function rulesFile(runbooks: RunbookAddress): string {
  return documentText({ groups: ruleGroups(runbooks) });
}

export function ruleGroups(runbooks: RunbookAddress) {
  const ofAlerts = Object.entries(alertGroups).map(([name, alerts]) => ({
    name,
    rules: alerts.map((alert) => alertingRule(alert, runbooks)),
  }));
  return [...recordings, ...ofAlerts];
}

/**
 * The file for `promtool test rules`: each case of each alert. Prometheus has one pace in a file.
 */
export function ruleTestFiles(
  runbooks: RunbookAddress,
  alerts: readonly Alert[] = allAlerts,
): ReadonlyMap<string, string> {
  const all = alerts.flatMap((alert) => alert.cases.map((each) => ({ alert, each })));
  const byPace = Map.groupBy(all, ({ each }): Pace => each.pace ?? '1m');
  return new Map(
    [...byPace].map(([pace, cases]) => [
      pace === '1m' ? 'rules.test.yaml' : `rules-${pace}.test.yaml`,
      documentText({
        rule_files: ['rules.yaml'],
        evaluation_interval: pace,
        // Otherwise it is random whether an alert sees a series that was recorded at the same
        // moment.
        group_eval_order: ruleGroups(runbooks).map(({ name }) => name),
        tests: cases.map(({ alert, each }) => ruleTest(alert, each, runbooks)),
      }),
    ]),
  );
}

function alertingRule(alert: Alert, runbooks: RunbookAddress) {
  const { name, expr, severity, summary, description } = alert;
  return {
    alert: name,
    expr,
    ...(alert.for !== undefined && { for: alert.for }),
    ...(alert.keepFiringFor !== undefined && { keep_firing_for: alert.keepFiringFor }),
    labels: { severity },
    annotations: { summary, description, runbook_url: runbookOf(name, runbooks) },
  };
}

export function runbookOf(alert: string, runbooks: RunbookAddress): string {
  return `${runbooks}/${alert}.md`;
}

function ruleTest(alert: Alert, { title, pace, series, moments }: AlertCase, runbooks: RunbookAddress) {
  return {
    name: `${alert.name} (${alert.severity}) ${title}`,
    interval: pace === '6h' ? '6h' : '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: moments.map((moment) => alertTest(alert, moment, runbooks)),
  };
}

/**
 * promtool compares the alerts of a name whatever their severity. An alert's other severity must be
 * expected too, so alerts of one name must not fire at once in a case.
 */
function alertTest(alert: Alert, { at, firing }: Moment, runbooks: RunbookAddress) {
  return {
    eval_time: at,
    alertname: alert.name,
    exp_alerts: firing.map((each: Firing) => ({
      exp_labels: { severity: alert.severity, ...each.labels },
      exp_annotations: {
        summary: each.summary ?? alert.summary,
        description: each.description ?? alert.description,
        runbook_url: runbookOf(alert.name, runbooks),
      },
    })),
  };
}
