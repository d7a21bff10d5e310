import { UsageGrouping, type UsageReportRow } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { UsagePlane } from '../../control-plane/control-plane.ts';
import { servedBy } from '../../output/failures.ts';
import { type Cell, type Column, type FormatName, rowFormat } from '../../output/table.ts';
import type { Terminal } from '../../output/terminal.ts';

export const groupingNames = ['day', 'token', 'model'] as const;

export interface ReportFlags {
  readonly from: string;
  readonly to: string;
  readonly token?: string;
  readonly by: (typeof groupingNames)[number];
  readonly format: FormatName;
}

/** A month of a million tokens takes a while to sum up. */
const callOptions = { timeoutMs: 60_000 };

/** Prints sums page after page: no more than one page is held, however long the report. */
export async function reportUsage(
  { report }: Pick<UsagePlane, 'report'>,
  { from, to, token, by, format }: ReportFlags,
  terminal: Terminal,
): Promise<void> {
  if (to < from) throw new Error('--to is before --from.');
  const { keys, grouping, keyOf } = groupings[by];
  const { head, row } = rowFormat(format, [...keys, ...totalsColumns]);
  await terminal.print(head);
  const total: Sums = [0, 0, 0, 0, 0];
  const request = { firstDay: from, lastDay: to, tokenId: token ?? '', grouping };
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    const call = report.reportUsage({ ...request, pageToken }, callOptions);
    const { rows, nextPageToken }: Awaited<typeof call> = await servedBy('usage-query', call);
    const lines: string[] = [];
    for (const each of rows) {
      const sums = sumsOf(each);
      for (const [index, sum] of sums.entries()) total[index] = (total[index] ?? 0) + sum;
      lines.push(row([...keyOf(each), ...sums]));
    }
    await terminal.print(lines.join(''));
    pageToken = nextPageToken === '' ? undefined : nextPageToken;
  }
  // Programs add up for themselves: a row of another kind would be in their way.
  if (format === 'table') await terminal.print(row(['total', ...keys.slice(1).map(() => ''), ...total]));
}

/** Requests, input, cached, output, total. */
type Sums = number[];

interface Grouping {
  readonly grouping: UsageGrouping;
  readonly keys: readonly Column[];
  keyOf(row: UsageReportRow): readonly Cell[];
}

const groupings: Readonly<Record<ReportFlags['by'], Grouping>> = {
  day: {
    grouping: UsageGrouping.DAY,
    keys: [{ name: 'day', width: 10, kind: 'text' }],
    keyOf: ({ localDay }) => [localDay],
  },
  token: {
    grouping: UsageGrouping.TOKEN,
    keys: [{ name: 'token', width: 36, kind: 'text' }],
    keyOf: ({ tokenId }) => [tokenId],
  },
  model: {
    grouping: UsageGrouping.MODEL,
    keys: [
      { name: 'provider', width: 12, kind: 'text' },
      { name: 'model', width: 32, kind: 'text' },
    ],
    keyOf: ({ provider, model }) => [provider, model],
  },
};

const totalsColumns: readonly Column[] = [
  { name: 'requests', width: 12, kind: 'number' },
  { name: 'inputTokens', width: 16, kind: 'number' },
  { name: 'cachedTokens', width: 16, kind: 'number' },
  { name: 'outputTokens', width: 16, kind: 'number' },
  { name: 'totalTokens', width: 16, kind: 'number' },
];

function sumsOf({ totals }: UsageReportRow): Sums {
  const input = Number(totals?.inputTokens ?? 0n);
  const output = Number(totals?.outputTokens ?? 0n);
  return [Number(totals?.requests ?? 0n), input, Number(totals?.cachedTokens ?? 0n), output, input + output];
}
