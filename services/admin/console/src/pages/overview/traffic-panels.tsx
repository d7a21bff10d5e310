import { formatCompact, formatRate, formatSeconds } from '@gateway/presentation';
import type { OverviewPoint } from '@gateway/proto/admin/v1/system_service_pb.js';
import type { ReactNode } from 'react';
import { Panel } from '../../frame/page.tsx';
import { Chart, type Series } from '../../ui/chart.tsx';
import { Empty } from '../../ui/state.tsx';
import { largestOf } from './overview-points.ts';

/** The traffic of the edges: one panel for each of the signals that operators look at first. */
export function TrafficPanels({ points }: { readonly points: readonly OverviewPoint[] }) {
  const last = points.at(-1);
  if (last === undefined)
    return <Empty title="No metrics yet">An edge reports its first metrics within ten seconds of its start.</Empty>;
  const times = points.map(({ atMs }) => atMs / 1000);
  const line = (label: string, colour: Series['colour'], of: (point: OverviewPoint) => number | undefined): Series => ({
    label,
    colour,
    values: points.map((point) => of(point) ?? null),
  });
  const coloured = (lines: readonly Omit<Series, 'colour'>[]) =>
    lines.map((each, index): Series => ({ ...each, colour: `chart-${(index % 8) + 1}` }));
  const tokens = coloured(largestOf(points, (point) => point.tokensPerMinuteByModel, 6));
  const refusals = coloured(largestOf(points, (point) => point.refusalsPerMinuteByCode, 5));
  const failing = last.requestsPerSecond > 0 ? last.errorsPerSecond / last.requestsPerSecond : 0;
  return (
    <div className="panels">
      <Signal title="Requests" figure={formatRate(last.requestsPerSecond)} unit="per second">
        <Chart
          label="Requests per second"
          times={times}
          format={formatRate}
          series={[line('requests/s', 'chart-1', (point) => point.requestsPerSecond)]}
        />
      </Signal>
      <Signal
        title="Server errors (5xx)"
        figure={formatRate(last.errorsPerSecond)}
        unit="per second"
        bad={failing > 0.01}
      >
        <Chart
          label="Server errors per second"
          times={times}
          format={formatRate}
          series={[line('5xx/s', 'bad', (point) => point.errorsPerSecond)]}
        />
      </Signal>
      <Signal title="First token" figure={secondsOr(last.firstTokenP95Seconds)} unit="p95">
        <Chart
          label="Time to first token"
          times={times}
          format={formatSeconds}
          series={[
            line('p50', 'chart-1', (point) => point.firstTokenP50Seconds),
            line('p95', 'chart-2', (point) => point.firstTokenP95Seconds),
          ]}
        />
      </Signal>
      <Signal title="Tokens by model" figure={formatCompact(sumOf(last.tokensPerMinuteByModel))} unit="per minute">
        <Chart label="Tokens per minute by model" kind="stacked" times={times} format={formatCompact} series={tokens} />
      </Signal>
      <Signal title="Errors by code" figure={formatRate(sumOf(last.refusalsPerMinuteByCode))} unit="per minute">
        <Chart label="Errors per minute by code" kind="stacked" times={times} format={formatRate} series={refusals} />
      </Signal>
      <Signal title="Open streams" figure={formatCompact(last.openStreams)} unit="now">
        <Chart
          label="Open streams"
          times={times}
          format={formatCompact}
          series={[line('streams', 'chart-3', (point) => point.openStreams)]}
        />
      </Signal>
    </div>
  );
}

interface SignalProps {
  readonly title: string;
  readonly figure: string;
  readonly unit: string;
  readonly bad?: boolean;
  readonly children: ReactNode;
}

function Signal({ title, figure, unit, bad = false, children }: SignalProps) {
  return (
    <Panel title={title} aside={unit}>
      <p className={bad ? 'figure bad' : 'figure'}>{figure}</p>
      {children}
    </Panel>
  );
}

function secondsOr(seconds: number | undefined): string {
  return seconds === undefined ? '–' : formatSeconds(seconds);
}

function sumOf(map: Readonly<Record<string, number>>): number {
  return Object.values(map).reduce((sum, value) => sum + value, 0);
}
