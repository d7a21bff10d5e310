import type { Environment } from '@gateway/config';
import { UsageGrouping, type UsageReportRow } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { systemClock } from '@gateway/time';
import { Command, Option } from 'commander';
import { openUsagePlane, pagesOf, type ServiceAddresses, type UsagePlane } from '../control-plane.ts';
import { servedBy } from '../failures.ts';
import { type Column, type FormatName, formatNames, note, print, rowFormat, timeText } from '../output.ts';
import { localDay } from './flags.ts';
import { type ReconcileFlags, reconcileUsage } from './usage/reconcile.ts';

/** `gatewayctl usage …` */
export function usageCommand(env: Environment): Command {
  const usage = new Command('usage').description(
    'Report usage, check the ledger, and record what could not be recorded.',
  );
  usage
    .command('report')
    .description(
      'Sums of local days (Europe/Amsterdam), both ends included. Standard output has the report and nothing else. A stand-alone usage-query answers it.',
    )
    .requiredOption('--from <day>', 'first day, such as 2026-11-01', localDay)
    .requiredOption('--to <day>', 'last day', localDay)
    .option('--token <id>', 'only this token')
    .addOption(new Option('--by <key>', 'what a row sums up').choices(Object.keys(groupings)).default('day'))
    .addOption(new Option('--format <format>', 'json is one object a line').choices([...formatNames]).default('table'))
    .action(async (flags: ReportFlags) => {
      await using plane = await openUsagePlane(env);
      await reportUsage(plane, flags);
    });
  usage
    .command('reconcile')
    .description(
      "Compare each day's sums with its events, as long as those are kept, and the limiter's counters of today (and of yesterday while it has them) with the ledger. The limiter mends its counters as it compares them; the sums are mended with --repair only. Exits 1 when differences are left, or something could not be compared. Stand-alone services: usage-ingest at GATEWAY_ADMIN_URL, the others by --limiter and --identity.",
    )
    .option('--from <day>', 'first day; six days before the last one unless given', localDay)
    .option('--to <day>', 'last day; today unless given', localDay)
    .option('--repair', 'bring the sums to what the events say; usage may be recorded meanwhile')
    .option('--limiter <url>', "admin address of a limiter; the running gateway's unless given")
    .option(
      '--identity <url>',
      "admin address of identity, which lists tokens; the running gateway's, or the database's, unless given",
    )
    .action(async (flags: ReconcileFlags & ServiceAddresses) => {
      await using plane = await openUsagePlane(env, flags);
      const { differencesLeft, notCompared } = await reconcileUsage(plane, flags, systemClock);
      if (differencesLeft || notCompared) process.exitCode = 1;
    });
  usage
    .command('replay-dead-letters')
    .description(
      'Read usage again that could not be recorded when it came. What can be recorded now is, once, and is a dead letter no longer. Lists those that stay, with the reason. A stand-alone usage-ingest answers it.',
    )
    .option('--dry-run', 'only say what would happen')
    .action(async (flags: { readonly dryRun?: boolean }) => {
      await using plane = await openUsagePlane(env);
      await replayDeadLetters(plane, flags);
    });
  return usage;
}

/** What a row sums up, and the columns that name it. */
const groupings = {
  day: { grouping: UsageGrouping.DAY, keys: { day: 10 }, keyOf: (row: UsageReportRow) => [row.localDay] },
  token: { grouping: UsageGrouping.TOKEN, keys: { token: 36 }, keyOf: (row: UsageReportRow) => [row.tokenId] },
  model: {
    grouping: UsageGrouping.MODEL,
    keys: { provider: 12, model: 32 },
    keyOf: (row: UsageReportRow) => [row.provider, row.model],
  },
};

interface ReportFlags {
  readonly from: string;
  readonly to: string;
  readonly token?: string;
  readonly by: keyof typeof groupings;
  readonly format: FormatName;
}

/** A month of a million tokens takes a while to sum up. */
const reportCallOptions = { timeoutMs: 60_000 };

/** Prints sums page after page: one page at a time is in memory, however long the report. */
export async function reportUsage(
  { report }: Pick<UsagePlane, 'report'>,
  { from, to, token, by, format }: ReportFlags,
): Promise<void> {
  if (to < from) throw new Error('--to is before --from.');
  const { keys, grouping, keyOf } = groupings[by];
  const keyColumns = Object.entries(keys).map(([name, width]): Column => ({ name, width }));
  const { head, row } = rowFormat(format, [...keyColumns, ...sumColumns]);
  print(head);
  const total = sumColumns.map(() => 0);
  const request = { firstDay: from, lastDay: to, tokenId: token ?? '', grouping };
  const pages = pagesOf((pageToken) =>
    servedBy('usage-query', report.reportUsage({ ...request, pageToken }, reportCallOptions)),
  );
  for await (const { rows } of pages) {
    const lines = rows.map((each) => {
      const sums = sumsOf(each);
      for (const [index, sum] of sums.entries()) total[index] = (total[index] ?? 0) + sum;
      return row([...keyOf(each), ...sums]);
    });
    print(lines.join(''));
  }
  // Programs add up for themselves: a row of another kind would be in their way.
  if (format === 'table') print(row(['total', ...keyColumns.slice(1).map(() => ''), ...total]));
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

/** Has the ledger read its dead letters again, prints those that stay, and sums up in the last line. */
export async function replayDeadLetters(
  { ledger }: Pick<UsagePlane, 'ledger'>,
  { dryRun = false }: { readonly dryRun?: boolean },
): Promise<void> {
  const totals = { replayed: 0, duplicates: 0, stillDead: 0 };
  const pages = pagesOf((pageToken) =>
    servedBy('usage-ingest', ledger.replayDeadLetters({ dryRun, pageToken }, { timeoutMs: 60_000 })),
  );
  for await (const { replayed, duplicates, stillDead, nextPageToken } of pages) {
    totals.replayed += replayed;
    totals.duplicates += duplicates;
    totals.stillDead += stillDead.length;
    for (const { deadLetterId, receivedAt, reason } of stillDead) {
      print(`${deadLetterId}  ${timeText(receivedAt)}  ${reason}\n`);
    }
    const read = totals.replayed + totals.duplicates + totals.stillDead;
    if (nextPageToken !== '') note(`${read} letters read`);
  }
  const [recorded, deleted] = dryRun ? ['would be recorded', 'would be deleted'] : ['recorded', 'deleted'];
  print(
    `${totals.replayed} ${recorded}, ${totals.duplicates} in the ledger already and ${deleted}, ${totals.stillDead} still dead.\n`,
  );
}
