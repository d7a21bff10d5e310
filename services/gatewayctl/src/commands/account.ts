import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Environment } from '@gateway/config';
import { type Account, AccountState, AttemptResult, type Cooldown } from '@gateway/proto/pool/v1/account_pb.js';
import { Command } from 'commander';
import { callOptions, openControlPlane } from '../control-plane/control-plane.ts';
import { formatTable } from '../output/table.ts';

/** `gatewayctl account …` */
export function accountCommand(env: Environment): Command {
  return new Command('account').description('Look at provider accounts.').addCommand(listAccounts(env));
}

function listAccounts(env: Environment): Command {
  return new Command('list')
    .description(
      'List accounts with their health. Without a running gateway health is not known and all count as available.',
    )
    .option('--pool <name>', 'only this pool')
    .option('--json', 'as JSON, one account a line')
    .action(async (flags: { readonly pool?: string; readonly json?: boolean }) => {
      await using plane = await openControlPlane(env);
      const { accounts } = await plane.broker.listAccounts({ pool: flags.pool ?? '' }, callOptions);
      const rows = accounts.map(toRow);
      if (flags.json) for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
      else
        process.stdout.write(
          formatTable(
            Object.keys(emptyRow),
            rows.map((row) => Object.values(row)),
          ),
        );
    });
}

const emptyRow = { pool: '', account: '', state: '', inFlight: '', cooldowns: '' };

function toRow({ pool, name, state, inFlight, cooldowns }: Account): typeof emptyRow {
  return {
    pool,
    account: name,
    state: wordOf(AccountState, state),
    inFlight: String(inFlight),
    cooldowns: cooldowns.map(describe).join('; '),
  };
}

function describe({ until, model, reason }: Cooldown): string {
  const scope = model === '' ? 'all models' : model;
  return `${scope} until ${until === undefined ? 'further notice' : timestampDate(until).toISOString()} (${wordOf(AttemptResult, reason)})`;
}

/** The name of an enum's value in lower case: `rate_limited`. */
function wordOf(names: Readonly<Record<number, string>>, value: number): string {
  return (names[value] ?? 'unknown').toLowerCase();
}
