import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { datasource, type PanelDescription, panelOf, runbooksVariable } from './panels.ts';

export interface DashboardDescription {
  /** The name of its file. */
  readonly file: string;
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Variables besides those that every dashboard has: values of a label. */
  readonly variables?: readonly Variable[];
  readonly rows: readonly Row[];
}

export interface Variable {
  readonly name: string;
  readonly label: string;
  /** A metric that has the label. */
  readonly metric: string;
  readonly labelName: string;
  /**
   * "All" stands for the existing values, not for anything: other processes also have jobs and
   * metrics of Node.
   */
  readonly isClosed?: boolean;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly PanelDescription[];
}

/** Matchers of every selector of a dashboard, so that its variables apply. */
export const chosen = 'namespace=~"$namespace",job=~"$job",instance=~"$instance"';

const tag = 'model-gateway';

/** The dashboard for import into Grafana. @param runbooks the address of the folder of runbooks. */
export function dashboardOf(description: DashboardDescription, runbooks: string): Dashboard {
  const builder = new DashboardBuilder(`Model gateway: ${description.title}`)
    .uid(description.uid)
    .description(description.description)
    .tags([tag])
    .editable()
    .annotations([])
    .timezone('browser')
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .tooltip(DashboardCursorSync.Crosshair)
    .link(toTheOthers())
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'));
  for (const variable of [...variablesOfAll, ...(description.variables ?? [])])
    builder.withVariable(valuesOf(variable));
  builder.withVariable(
    new TextBoxVariableBuilder(runbooksVariable)
      .label('Runbooks at')
      .defaultValue(runbooks)
      .current({ text: runbooks, value: runbooks }),
  );
  let id = 0;
  for (const { title, panels } of description.rows) {
    builder.withRow(new RowBuilder(title).id(++id));
    for (const panel of panels) builder.withPanel(panelOf(++id, panel));
  }
  return builder.build();
}

const variablesOfAll: readonly Variable[] = [
  { name: 'namespace', label: 'Namespace', metric: 'gateway_build_info', labelName: 'namespace' },
  {
    name: 'job',
    label: 'Service',
    metric: 'gateway_build_info{namespace=~"$namespace"}',
    labelName: 'job',
    isClosed: true,
  },
  {
    name: 'instance',
    label: 'Instance',
    metric: 'gateway_build_info{namespace=~"$namespace",job=~"$job"}',
    labelName: 'instance',
  },
];

/** "All" matches anything, also a missing label: outside of Kubernetes there is no namespace. */
function valuesOf({ name, label, metric, labelName, isClosed = false }: Variable): QueryVariableBuilder {
  const text = `label_values(${metric}, ${labelName})`;
  const variable = new QueryVariableBuilder(name)
    .label(label)
    .query({ query: text, refId: name })
    .definition(text)
    .datasource(datasource)
    .multi(true)
    .includeAll(true)
    .current({ text: ['All'], value: ['$__all'] })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);
  return isClosed ? variable : variable.allValue('.*');
}

function toTheOthers(): DashboardLinkBuilder {
  return new DashboardLinkBuilder('Model gateway')
    .type(DashboardLinkType.Dashboards)
    .tags([tag])
    .asDropdown(true)
    .includeVars(true)
    .keepTime(true);
}
