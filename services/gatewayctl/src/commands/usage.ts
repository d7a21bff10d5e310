import type { Environment } from '@gateway/config';
import { systemClock } from '@gateway/time';
import { Command, Option } from 'commander';
import { openUsagePlane, type ServiceAddresses } from '../control-plane.ts';
import { formatNames, processTerminal } from '../output.ts';
import { localDay } from './flags.ts';
import { type ReconcileFlags, reconcileUsage } from './usage/reconcile.ts';
import { replayDeadLetters } from './usage/replay-dead-letters.ts';
import { groupings, type ReportFlags, reportUsage } from './usage/report.ts';

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
      await reportUsage(plane, flags, processTerminal());
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
      const { differencesLeft, notCompared } = await reconcileUsage(plane, flags, processTerminal(), systemClock);
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
      await replayDeadLetters(plane, flags, processTerminal());
    });
  return usage;
}
