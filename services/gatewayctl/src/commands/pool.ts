import type { Environment } from '@gateway/config';
import { affinityKey } from '@gateway/edge-router/endpoints/affinity';
import { systemClock } from '@gateway/time';
import { Command } from 'commander';
import { openControlPlane } from '../control-plane/control-plane.ts';
import { processTerminal } from '../output/terminal.ts';
import { explainPool } from './pool/explain.ts';
import { poolStatus, type StatusFlags } from './pool/status.ts';

/** `gatewayctl pool …` */
export function poolCommand(env: Environment): Command {
  return new Command('pool')
    .description('See how pools of accounts stand. With stand-alone services GATEWAY_ADMIN_URL is the pool broker.')
    .addCommand(status(env))
    .addCommand(explain(env));
}

function status(env: Environment): Command {
  return new Command('status')
    .description(
      'Accounts with their state, what keeps them, requests under way, quotas; and when a pool will be used up if it goes on as it did since its quotas began.',
    )
    .argument('[pool]', 'only this pool')
    .option('--json', 'as JSON, one pool a line')
    .action(async (pool: string | undefined, flags: StatusFlags) => {
      await using plane = await openControlPlane(env);
      await poolStatus(plane, pool, flags, { terminal: processTerminal(), clock: systemClock });
    });
}

function explain(env: Environment): Command {
  return new Command('explain')
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
}
