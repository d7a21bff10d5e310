import { UsageGrouping, type UsageReportRow } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { pagesOf, type UsagePlane } from '../../control-plane.ts';
import { servedBy } from '../../failures.ts';
import { type Column, type FormatName, rowFormat, type Terminal } from '../../output.ts';

/** What a row sums up, and the columns that name it. */
export const groupings = {
  day: { grouping: UsageGrouping.DAY, keys: { day: 10 }, keyOf: (row: UsageReportRow) => [row.localDay] },
  token: { grouping: UsageGrouping.TOKEN, keys: { token: 36 }, keyOf: (row: UsageReportRow) => [row.tokenId] },
  model: {
    grouping: UsageGrouping.MODEL,
    keys: { provider: 12, model: 32 },
    keyOf: (row: UsageReportRow) => [row.provider, row.model],
  },
};

export interface ReportFlags {
  readonly from: string;
  readonly to: string;
  readonly token?: string;
  readonly by: keyof typeof groupings;
  readonly format: FormatName;
}

/** A month of a million tokens takes a while to sum up. */
const callOptions = { timeoutMs: 60_000 };

/** Prints sums page after page: one page at a time is in memory, however long the report. */
export async function reportUsage(
  { report }: Pick<UsagePlane, 'report'>,
  { from, to, token, by, format }: ReportFlags,
  terminal: Terminal,
): Promise<void> {
  if (to < from) throw new Error('--to is before --from.');
  const { keys, grouping, keyOf } = groupings[by];
  const keyColumns = Object.entries(keys).map(([name, width]): Column => ({ name, width }));
  const { head, row } = rowFormat(format, [...keyColumns, ...sumColumns]);
  await terminal.print(head);
  const total = sumColumns.map(() => 0);
  const request = { firstDay: from, lastDay: to, tokenId: token ?? '', grouping };
  const pages = pagesOf((pageToken) =>
    servedBy('usage-query', report.reportUsage({ ...request, pageToken }, callOptions)),
  );
  for await (const { rows } of pages) {
    const lines = rows.map((each) => {
      const sums = sumsOf(each);
      for (const [index, sum] of sums.entries()) total[index] = (total[index] ?? 0) + sum;
      return row([...keyOf(each), ...sums]);
    });
    await terminal.print(lines.join(''));
  }
  // Programs add up for themselves: a row of another kind would be in their way.
  if (format === 'table') await terminal.print(row(['total', ...keyColumns.slice(1).map(() => ''), ...total]));
}

const sumColumns: readonly Column[] = [
  { name: 'requests', width: 12, kind: 'number' },
  { name: 'inputTokens', width: 16, kind: 'number' },
  { name: 'cachedTokens', width: 16, kind: 'number' },
  { name: 'outputTokens', width: 16, kind: 'number' },
  { name: 'totalTokens', width: 16, kind: 'number' },
];

function sumsOf({ totals }: UsageReportRow): readonly number[] {
  const input = Number(totals?.inputTokens ?? 0n);
  const output = Number(totals?.outputTokens ?? 0n);
  return [Number(totals?.requests ?? 0n), input, Number(totals?.cachedTokens ?? 0n), output, input + output];
}
