import type { Environment } from '@gateway/config';
import { affinityKey } from '@gateway/edge-router/endpoints/affinity';
import { AccountState } from '@gateway/proto/pool/v1/account_pb.js';
import type { AccountExplanation } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { systemClock } from '@gateway/time';
import { Command } from 'commander';
import { type ControlPlane, callOptions, openControlPlane } from '../control-plane.ts';
import { type Columns, enumWord, formatRecords, processTerminal, type Terminal } from '../output.ts';
import { poolStatus } from './pool/status.ts';

/** `gatewayctl pool …` */
export function poolCommand(env: Environment): Command {
  const pool = new Command('pool').description(
    'See how pools of accounts stand. With stand-alone services GATEWAY_ADMIN_URL is the pool broker.',
  );
  pool
    .command('status')
    .description(
      'Accounts with their state, what keeps them, requests under way, quotas; and when a pool will be used up if it goes on as it did since its quotas began.',
    )
    .argument('[pool]', 'only this pool')
    .option('--json', 'as JSON, one pool a line')
    .action(async (name: string | undefined, flags: { readonly json?: boolean }) => {
      await using plane = await openControlPlane(env);
      await poolStatus(plane, name, flags, { terminal: processTerminal(), clock: systemClock });
    });
  pool
    .command('explain')
    .description('Which account would serve the next request for a model or class, and why not the others.')
    .argument('<model>', 'a class such as gateway/sterk, or the id of a model')
    .option('--session <name>', "of a client's session, as in its header session-id; needs --token")
    .option('--token <id>', "the session's token")
    .action(async (model: string, { session, token }: { readonly session?: string; readonly token?: string }) => {
      if ((session === undefined) !== (token === undefined)) throw new Error('--session and --token go together.');
      const key =
        session === undefined || token === undefined ? '' : affinityKey(token, { 'session-id': session }, undefined);
      await using plane = await openControlPlane(env);
      await explainPool(plane, model, key, processTerminal());
    });
  return pool;
}

/** Prints which account would serve the next request for a model, and why not the others. */
async function explainPool(
  { broker }: Pick<ControlPlane, 'broker'>,
  model: string,
  affinityKey: string,
  terminal: Terminal,
): Promise<void> {
  const { candidates } = await broker.explain({ model, affinityKey }, callOptions);
  if (candidates.length === 0) throw new Error(`there is no model or class ${model}`);
  const chosen = candidates.flatMap(({ accounts }) => accounts).find((account) => account.chosen)?.account;
  const texts = candidates.map(({ pool, model: id, accounts }, index) => {
    const table = accounts.length === 0 ? 'no accounts\n' : formatRecords(explanationColumns, accounts);
    return `${index + 1}. ${id} of ${pool}\n${table}`;
  });
  const verdict = chosen === undefined ? 'No account would take a request now.' : `${chosen.id} would take it.`;
  await terminal.print(`${texts.join('\n')}\n${verdict}\n`);
}

const explanationColumns: Columns<AccountExplanation> = {
  account: ({ account }) => account?.name ?? '',
  state: ({ account }) => enumWord(AccountState, account?.state ?? AccountState.UNSPECIFIED),
  'in flight': ({ account }) => String(account?.inFlight ?? 0),
  verdict: ({ chosen, reason }) => (chosen ? 'would be taken' : reason),
};
