import { PanelBuilder as BarGaugePanel } from '@grafana/grafana-foundation-sdk/bargauge';
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  BarGaugeDisplayMode,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizOrientation,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardLinkBuilder,
  DashboardLinkType,
  type Panel,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import {
  HeatmapColorMode,
  HeatmapColorOptionsBuilder,
  PanelBuilder as HeatmapPanel,
  YAxisConfigBuilder,
} from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatPanel } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TablePanel } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeseriesPanel } from '@grafana/grafana-foundation-sdk/timeseries';

/** One panel of a dashboard. */
export interface PanelDescription {
  readonly kind: 'lines' | 'stacked' | 'number' | 'bars' | 'table' | 'heatmap';
  readonly title: string;
  /** The content of the panel, and which values are good or bad. */
  readonly description: string;
  /** Grafana's id of a unit: `s`, `reqps`, `percentunit`. */
  readonly unit: string;
  /** Columns, of 24. */
  readonly width: number;
  readonly targets: readonly Target[];
  /**
   * The values from which it is a warning, and from which it is bad; `below`: in the other
   * direction.
   */
  readonly thresholds?: Thresholds;
  /** Alerts on the same series: their runbooks are linked. */
  readonly alerts?: readonly string[];
  readonly max?: number;
}

export interface Target {
  readonly expr: string;
  /** With labels as `{{name}}`. */
  readonly legend: string;
  /** Histograms with trace ids. */
  readonly hasExemplars?: boolean;
}

export interface Thresholds {
  readonly warn: number;
  readonly bad: number;
}

/** The variable for the Prometheus data source: dashboards are imported unchanged. */
export const datasource = { type: 'prometheus', uid: `\${datasource}` };

/** The variable with the address of the folder of runbooks. */
export const runbooksVariable = 'runbooks';

export function panelOf(id: number, description: PanelDescription): Builder<Panel> {
  const panel = builders[description.kind](description);
  panel
    .id(id)
    .title(description.title)
    .description(description.description)
    .datasource(datasource)
    .span(description.width)
    .height(description.kind === 'number' ? 4 : 8)
    .links((description.alerts ?? []).map(runbookLink));
  description.targets.forEach((target, index) => {
    panel.withTarget(query(target, index, description.kind));
  });
  return panel;
}

type Describe = (description: PanelDescription) => AnyPanel;
type AnyPanel = TimeseriesPanel | StatPanel | BarGaugePanel | TablePanel | HeatmapPanel;

const builders: Readonly<Record<PanelDescription['kind'], Describe>> = {
  lines: (description) => lines(description),
  stacked: (description) =>
    lines(description).fillOpacity(30).stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A')),
  number: ({ unit, thresholds }) =>
    new StatPanel().unit(unit).thresholds(steps(thresholds)).reduceOptions(lastValue()).noValue('–'),
  bars: ({ unit, thresholds, max }) => {
    const panel = new BarGaugePanel()
      .unit(unit)
      .thresholds(steps(thresholds))
      .reduceOptions(lastValue())
      .displayMode(BarGaugeDisplayMode.Basic)
      .orientation(VizOrientation.Horizontal)
      .min(0);
    return max === undefined ? panel : panel.max(max);
  },
  table: ({ unit, thresholds }) =>
    new TablePanel()
      .unit(unit)
      .thresholds(steps(thresholds))
      .withTransformation({ id: 'merge', options: {} })
      .withTransformation({ id: 'organize', options: { excludeByName: { Time: true, __name__: true } } }),
  heatmap: ({ unit }) =>
    new HeatmapPanel()
      .yAxis(new YAxisConfigBuilder().unit(unit))
      .color(new HeatmapColorOptionsBuilder().mode(HeatmapColorMode.Scheme).scheme('Blues').steps(64)),
};

function lines({ unit, thresholds, max }: PanelDescription): TimeseriesPanel {
  const panel = new TimeseriesPanel()
    .unit(unit)
    .min(0)
    .lineWidth(1)
    .fillOpacity(5)
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.Table)
        .placement(LegendPlacement.Bottom)
        .showLegend(true)
        .calcs(['mean', 'max', 'lastNotNull']),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending));
  if (max !== undefined) panel.max(max);
  if (thresholds === undefined) return panel;
  return panel
    .thresholds(steps(thresholds))
    .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
}

/** Green is good: below both values, or above both if the bad one is the smaller. */
function steps(thresholds: Thresholds | undefined): ThresholdsConfigBuilder {
  const config = new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute);
  if (thresholds === undefined) return config.steps([{ value: null, color: 'blue' }]);
  const { warn, bad } = thresholds;
  return config.steps(
    bad > warn
      ? [
          { value: null, color: 'green' },
          { value: warn, color: 'orange' },
          { value: bad, color: 'red' },
        ]
      : [
          { value: null, color: 'red' },
          { value: bad, color: 'orange' },
          { value: warn, color: 'green' },
        ],
  );
}

function lastValue(): ReduceDataOptionsBuilder {
  return new ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false);
}

function query({ expr, legend, hasExemplars = false }: Target, index: number, kind: PanelDescription['kind']) {
  const builder = new DataqueryBuilder()
    .expr(expr)
    .refId(String.fromCodePoint(65 + index))
    .datasource(datasource)
    .legendFormat(legend)
    .exemplar(hasExemplars);
  if (kind === 'table') return builder.instant().format(PromQueryFormat.Table);
  if (kind === 'heatmap') return builder.range().format(PromQueryFormat.Heatmap);
  return builder.range();
}

function runbookLink(alert: string): DashboardLinkBuilder {
  return new DashboardLinkBuilder(`Runbook: ${alert}`)
    .type(DashboardLinkType.Link)
    .url(`\${${runbooksVariable}:raw}/${alert}.md`)
    .targetBlank(true);
}
