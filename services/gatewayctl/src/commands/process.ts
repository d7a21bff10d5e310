import type { Environment } from '@gateway/config/env-reader';
import { Command } from 'commander';
import { outliveClosedOutputs } from '../output/closed-outputs.ts';
import { note } from '../output/print.ts';

// Commands that run in this process, without calling a gateway.

/** `gatewayctl start` */
export function startCommand(env: Environment): Command {
  return new Command('start')
    .description(
      "Runs the whole gateway, in one process or on all cores. Settings come from the environment and gateway.yaml. Without gateway.yaml, OPENAI_API_KEY and ANTHROPIC_API_KEY are the gateway's own keys at the providers; clients never use them, but tokens that the gateway issues. Without any account, providers are simulated.",
    )
    .option(
      '--workers <number>',
      'number of worker processes, or auto for one per core (default: GATEWAY_WORKERS, or 1)',
    )
    .action(async ({ workers }: { readonly workers?: string }) => {
      outliveClosedOutputs();
      const { runAllInOne } = await import('@gateway/all-in-one/run');
      await runAllInOne(workers === undefined ? env : { ...env, GATEWAY_WORKERS: workers });
    });
}

/** `gatewayctl migrate` */
export function migrateCommand(env: Environment): Command {
  return new Command('migrate')
    .description('Applies pending database migrations, to DATABASE_URL or to the embedded database in GATEWAY_DATA.')
    .option('--wait', 'change nothing; wait until another process has applied them')
    .action(async ({ wait }: { readonly wait?: true }) => {
      const { migrateGatewayDatabase, waitForMigration } = await import('@gateway/all-in-one/gateway-database');
      const { applied, description } = await (wait ? waitForMigration(env, note) : migrateGatewayDatabase(env));
      for (const name of applied) note(`applied ${name}`);
      note(`${description} is up to date`);
    });
}
