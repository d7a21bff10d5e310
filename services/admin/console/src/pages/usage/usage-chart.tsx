import type { UsageRow } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { Chart } from '../../ui/chart.tsx';
import type { Measure } from './measures.ts';
import { dayLabel, daysOf, noonOf, type Period } from './usage-period.ts';

interface UsageChartProps {
  readonly period: Period;
  /** By day. Days without usage are missing. */
  readonly rows: readonly UsageRow[];
  readonly measure: Measure;
  readonly compare: boolean;
}

/** One bar for each local day; lines if two periods are compared. */
export function UsageChart({ period, rows, measure, compare }: UsageChartProps) {
  const days = daysOf(period);
  const byDay = new Map(rows.map((row) => [row.usage?.localDay, row]));
  const now = days.map((day) => measure.of(byDay.get(day)?.usage?.totals, byDay.get(day)?.cost));
  const before = days.map((day) => measure.of(byDay.get(day)?.before, byDay.get(day)?.costBefore));
  return (
    <Chart
      label={`${measure.label} by day (Europe/Amsterdam)`}
      kind={compare ? 'lines' : 'bars'}
      height={180}
      times={days.map(noonOf)}
      series={[
        { label: measure.label, colour: 'chart-1', values: now },
        ...(compare ? [{ label: 'Previous period', colour: 'chart-8' as const, values: before }] : []),
      ]}
      format={measure.short}
      formatTime={dayLabel}
    />
  );
}
