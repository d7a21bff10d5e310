import type { Environment } from '@gateway/config';
import { Command } from 'commander';
import { accountCommand } from './commands/account.ts';
import { migrateCommand } from './commands/migrate.ts';
import { poolCommand } from './commands/pool.ts';
import { requestCommand } from './commands/request.ts';
import { startCommand } from './commands/start.ts';
import { tokenCommand } from './commands/token.ts';
import { usageCommand } from './commands/usage.ts';

/** The whole command line. */
export function buildProgram(env: Environment): Command {
  return new Command('gatewayctl')
    .description(
      'Runs and operates the model gateway. Commands go to the running gateway at GATEWAY_ADMIN_URL (http://127.0.0.1:9090 unless set); when none runs there, to its database.',
    )
    .addCommand(startCommand(env))
    .addCommand(migrateCommand(env))
    .addCommand(tokenCommand(env))
    .addCommand(accountCommand(env))
    .addCommand(poolCommand(env))
    .addCommand(requestCommand(env))
    .addCommand(usageCommand(env))
    .showHelpAfterError();
}
