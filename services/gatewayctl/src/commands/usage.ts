import { create } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { visibleText } from '@gateway/presentation';
import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { ReplayDeadLettersResponseSchema } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { Command, Option } from 'commander';
import { pagesOf } from '../connection/pages.ts';
import { note, type OutputFlags, print, withOutput } from '../output/print.ts';
import { timeText } from '../output/words.ts';
import type { CommandContext } from './context.ts';
import { accountId, daysBack, idOrPrefix, localDay, type PeriodFlags } from './flags.ts';
import { type ExportFlags, exportFormats, exportUsage } from './usage/export.ts';
import { reconcileUsage } from './usage/reconcile.ts';
import { groupings, type ReportFlags, reportUsage } from './usage/report.ts';

/** `gatewayctl usage …` */
export function usageCommand({ connect }: CommandContext): Command {
  const usage = new Command('usage').description(
    'See what tokens used, and mend the ledger. Days are those of Europe/Amsterdam.',
  );
  withOutput(withFilters(withPeriod(usage.command('report'))))
    .description('Sums of requests, tokens and money. Without dates: of yesterday.')
    .addOption(new Option('--by <what>', 'what a row sums up').choices(Object.keys(groupings)).default('day'))
    .option('--compare', 'also the same number of days before')
    .action(async (flags: ReportFlags & OutputFlags) => {
      await using admin = await connect();
      await reportUsage(admin, flags);
    });
  withFilters(withPeriod(usage.command('export')))
    .description(
      'All rows of a period, without an upper bound, for other programs. Tells on standard error how far it is.',
    )
    .addOption(
      new Option('--what <rows>', 'usage: one row for each day, token, model and account; requests: the request log')
        .choices(['usage', 'requests'])
        .default('usage'),
    )
    .addOption(new Option('--format <format>', 'of the rows').choices(exportFormats).default('csv'))
    .option('--file <path>', 'write to this file in place of standard output')
    .action(async (flags: ExportFlags) => {
      await using admin = await connect({ running: true });
      await exportUsage(admin, flags);
    });
  usage
    .command('reconcile')
    .description(
      "Compares each day's sums with its events, as long as those are kept, and the limiter's counters of today and yesterday with the ledger. The limiter mends its counters as it compares them; the sums are mended with --repair only. Exits 1 when differences are left.",
    )
    .option('--from <day>', 'first day; six days before the last one unless given', (text) => localDay(text))
    .option('--to <day>', 'last day; today unless given', (text) => localDay(text))
    .option('--repair', 'bring the sums to what the events say; usage may be recorded meanwhile')
    .action(async (flags: PeriodFlags & { readonly repair?: true }) => {
      await using admin = await connect();
      await reconcileUsage(admin, flags);
    });
  usage
    .command('replay-dead-letters')
    .description(
      'Reads usage again that could not be recorded when it came. What can be recorded now is, once, and is a dead letter no longer. Lists those that stay, with the reason.',
    )
    .option('--dry-run', 'only say what would happen')
    .action(async ({ dryRun = false }: { readonly dryRun?: boolean }) => {
      await using admin = await connect();
      await replayDeadLetters(admin.clientOf(UsageService), dryRun);
    });
  return usage;
}

function withPeriod(command: Command): Command {
  return command
    .option('--since <days>', 'the last days, today included: 7d', daysBack)
    .option('--from <day>', 'first day: 2026-11-20, today or yesterday', (text) => localDay(text))
    .option('--to <day>', 'last day; today unless given', (text) => localDay(text));
}

function withFilters(command: Command): Command {
  return command
    .option('--token <token>', 'only of this token: its id, the beginning of one, or its label', idOrPrefix)
    .option('--model <id>', "only of this model, by the provider's id")
    .option('--account <pool/name>', 'only of this account', accountId);
}

/** Has the ledger read its dead letters again, prints those that stay, and sums up in the last line. */
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
    for (const { deadLetterId, receivedAt, reason } of stillDead) {
      print(`${deadLetterId}  ${timeText(receivedAt)}  ${visibleText(reason)}\n`);
    }
    const read = totals.replayed + totals.duplicates + totals.stillDead;
    if (nextPageToken !== '') note(`${read} letters read`);
  }
  const [recorded, deleted] = dryRun ? ['would be recorded', 'would be deleted'] : ['recorded', 'deleted'];
  print(
    `${totals.replayed} ${recorded}, ${totals.duplicates} in the ledger already and ${deleted}, ${totals.stillDead} still dead.\n`,
  );
}
