import { create } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { visibleText } from '@gateway/presentation/visible-text';
import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { ReplayDeadLettersResponseSchema } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { Command, Option } from 'commander';
import { pagesOf } from '../connection/pages.ts';
import { note, type OutputFlags, print, withOutput } from '../output/print.ts';
import { countText, timeText } from '../output/words.ts';
import type { CommandContext } from './context.ts';
import { accountId, daysBack, idOrPrefix, localDay, type PeriodFlags } from './flags.ts';
import type { ExportFlags } from './usage/export.ts';
import { reconcileUsage } from './usage/reconcile.ts';
import { groupingNames, groupings, type ReportFlags, reportUsage } from './usage/report.ts';

/** `gatewayctl usage …` */
export function usageCommand({ connect }: CommandContext): Command {
  const usage = new Command('usage').description(
    'Shows usage by token, and repairs the ledger. Days are calendar days in Europe/Amsterdam.',
  );
  withOutput(withFilters(withPeriod(usage.command('report'))))
    .description('Shows totals of requests, tokens and cost.')
    .addOption(
      new Option('--by <what>', 'what to group rows by, or two of them, such as token,model')
        .choices(Object.keys(groupings))
        .argParser(groupingNames)
        .default(['day'], 'day'),
    )
    .option('--compare', 'also show the previous period of the same length')
    .action(async (flags: ReportFlags & OutputFlags) => {
      await using admin = await connect({ reads: true });
      await reportUsage(admin, flags);
    });
  withFilters(withPeriod(usage.command('export')))
    .description(
      'Exports all rows of a period for other programs, without a limit. Reports progress on standard error.',
    )
    .addOption(
      new Option('--what <rows>', 'usage (one row per day, token, model and account) or requests (the request log)')
        .choices(['usage', 'requests'])
        .default('usage'),
    )
    .addOption(
      new Option('--format <format>', 'output format; focus: charges in the columns of FOCUS 1.2, as CSV')
        .choices(['csv', 'ndjson', 'focus'])
        .default('csv'),
    )
    .option('--file <path>', 'write to this file instead of standard output')
    .action(async (flags: ExportFlags) => {
      await using admin = await connect({ running: true });
      const { exportUsage } = await import('./usage/export.ts');
      await exportUsage(admin, flags);
    });
  usage
    .command('reconcile')
    .description(
      "Compares the sums of each day with its stored events, and the limiter's counters of today and yesterday with the ledger. The limiter corrects its counters automatically; --repair corrects the sums. Exits with status 1 if differences remain.",
    )
    .option('--from <day>', 'first day (default: six days before the last day)', (text) => localDay(text))
    .option('--to <day>', 'last day (default: today)', (text) => localDay(text))
    .option('--repair', 'correct the sums from the events; safe while usage is being recorded')
    .action(async (flags: PeriodFlags & { readonly repair?: true }) => {
      await using admin = await connect({ reads: !flags.repair });
      await reconcileUsage(admin, flags);
    });
  usage
    .command('replay-dead-letters')
    .description(
      'Retries request records that could not be stored. Stores each valid record exactly once and removes it from the dead letters. Lists the remaining ones with the reason.',
    )
    .option('--dry-run', 'show what would happen, change nothing')
    .action(async ({ dryRun = false }: { readonly dryRun?: boolean }) => {
      await using admin = await connect({ reads: dryRun });
      await replayDeadLetters(admin.clientOf(UsageService), dryRun);
    });
  return usage;
}

function withPeriod(command: Command): Command {
  return command
    .option('--since <days>', 'the last days, including today (default: 7d, unless --from or --to is set)', daysBack)
    .option('--from <day>', 'first day: 2026-11-20, today or yesterday', (text) => localDay(text))
    .option('--to <day>', 'last day (default: today)', (text) => localDay(text));
}

function withFilters(command: Command): Command {
  return command
    .option('--token <token>', 'only this token: its id, the beginning of the id, or its label', idOrPrefix)
    .option('--model <id>', "only this model, by the provider's id")
    .option('--account <pool/name>', 'only this account', accountId)
    .option('--group <id>', 'only tokens of this group; not together with an account');
}

/**
 * Makes the ledger read its dead letters again, prints those that stay, and ends with a summary.
 */
async function replayDeadLetters(usage: Client<typeof UsageService>, dryRun: boolean): Promise<void> {
  const totals = { replayed: 0, duplicates: 0, stillDead: 0 };
  const nextPage = async (pageToken: string) => {
    const { replay } = await usage.replayDeadLetters({ dryRun, pageToken });
    return replay ?? create(ReplayDeadLettersResponseSchema);
  };
  for await (const { replayed, duplicates, stillDead, nextPageToken } of pagesOf(nextPage)) {
    totals.replayed += replayed;
    totals.duplicates += duplicates;
    totals.stillDead += stillDead.length;
    for (const { deadLetterId, receivedAtMs, reason } of stillDead) {
      print(`${deadLetterId}  ${timeText(receivedAtMs)}  ${visibleText(reason)}\n`);
    }
    const read = totals.replayed + totals.duplicates + totals.stillDead;
    if (nextPageToken !== '') note(`${countText(read, 'dead letter')} read`);
  }
  const [recorded, deleted] = dryRun ? ['would be recorded', 'would be deleted'] : ['recorded', 'deleted'];
  print(
    `${totals.replayed} ${recorded}, ${totals.duplicates} already in the ledger and ${deleted}, ${totals.stillDead} still dead letters.\n`,
  );
}
