import type { Environment } from '@gateway/config';
import { endFailedProcess } from '@gateway/lifecycle/failed-process';
import { versionText } from '@gateway/telemetry';
import { Command } from 'commander';
import { accountCommand } from './commands/account.ts';
import { poolCommand } from './commands/pool.ts';
import { requestCommand } from './commands/request.ts';
import { tokenCommand } from './commands/token.ts';
import { usageCommand } from './commands/usage.ts';
import { failureText } from './failures.ts';
import { note } from './output.ts';

// A reader that has seen enough (`| head`) ends the command without an error.
process.stdout.on('error', (failure) => {
  if ('code' in failure && failure.code === 'EPIPE') process.exit(0);
});
try {
  await buildProgram(process.env).parseAsync(process.argv);
} catch (thrown) {
  note(failureText(thrown));
  endFailedProcess();
}

/** The whole command line. */
function buildProgram(env: Environment): Command {
  return new Command('gatewayctl')
    .description(
      'Runs and operates the model gateway. Commands go to the running gateway at GATEWAY_ADMIN_URL (http://127.0.0.1:9090 unless set); when none runs there, to its database.',
    )
    .version(versionText('gatewayctl').trim())
    .addCommand(startCommand(env))
    .addCommand(migrateCommand(env))
    .addCommand(tokenCommand(env))
    .addCommand(accountCommand(env))
    .addCommand(poolCommand(env))
    .addCommand(requestCommand(env))
    .addCommand(usageCommand(env))
    .showHelpAfterError();
}

function startCommand(env: Environment): Command {
  return new Command('start')
    .description(
      'Run the whole gateway, in this process or on all cores. Settings come from the environment and gateway.yaml.',
    )
    .option('--workers <number>', 'processes that serve, or auto: one for each core (default: GATEWAY_WORKERS, or 1)')
    .action(async ({ workers }: { readonly workers?: string }) => {
      const { runAllInOne } = await import('@gateway/all-in-one/run');
      await runAllInOne(workers === undefined ? env : { ...env, GATEWAY_WORKERS: workers });
    });
}

function migrateCommand(env: Environment): Command {
  return new Command('migrate')
    .description('Bring the tables up to date: those of DATABASE_URL, or of the embedded database in GATEWAY_DATA.')
    .option('--wait', 'change nothing: wait until another process has brought them up to date')
    .action(async ({ wait }: { readonly wait?: true }) => {
      const { migrateGatewayDatabase, waitForMigration } = await import('@gateway/all-in-one/gateway-database');
      const { applied, description } = await (wait ? waitForMigration(env, note) : migrateGatewayDatabase(env));
      for (const name of applied) note(`applied ${name}`);
      note(`${description} is up to date`);
    });
}
