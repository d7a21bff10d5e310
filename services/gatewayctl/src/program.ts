import { versionText } from '@gateway/telemetry';
import { Command } from 'commander';
import { accountCommand } from './commands/account.ts';
import { auditCommand } from './commands/audit.ts';
import { classCommand } from './commands/class.ts';
import { completionCommands } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import type { CommandContext } from './commands/context.ts';
import { doctorCommand } from './commands/doctor.ts';
import { operatorCommand } from './commands/operator.ts';
import { poolCommand } from './commands/pool.ts';
import { processCommands } from './commands/process.ts';
import { requestCommand } from './commands/request.ts';
import { sessionCommands } from './commands/session.ts';
import { snippetCommand } from './commands/snippet.ts';
import { systemCommand } from './commands/system.ts';
import { tokenCommand } from './commands/token.ts';
import { usageCommand } from './commands/usage.ts';

/** The whole command line. It throws all errors: CommanderError if the command line is invalid. */
export function buildProgram({ env, connect }: CommandContext): Command {
  const program = new Command('gatewayctl')
    .description(
      'Runs and operates the model gateway. Commands call the admin service at GATEWAY_ADMIN_URL (default: http://127.0.0.1:9090). If no gateway runs on this machine, most commands use its database directly.',
    )
    .version(versionText('gatewayctl').trim())
    .option('--offline', 'use the database of this environment, whether or not a gateway runs');
  const isOffline = () => program.opts<{ readonly offline?: true }>().offline;
  const context: CommandContext = { env, connect: (options) => connect({ ...options, offline: isOffline() }) };
  const { completion, complete } = completionCommands();
  const groups = [
    ...processCommands(context.env),
    ...sessionCommands(context),
    tokenCommand(context),
    snippetCommand(context),
    accountCommand(context),
    poolCommand(context),
    classCommand(context),
    requestCommand(context),
    usageCommand(context),
    configCommand(context),
    systemCommand(context),
    doctorCommand(context),
    operatorCommand(context),
    auditCommand(context),
    completion,
  ];
  for (const group of groups) program.addCommand(group);
  program.addCommand(complete, { hidden: true });
  prepare(program);
  return program;
}

/** It throws its errors, and its help includes the global flags. */
function prepare(command: Command): void {
  command.exitOverride().configureHelp({ showGlobalOptions: true });
  if (command.parent) command.showHelpAfterError(`(see ${fullName(command)} --help)`);
  for (const each of command.commands) prepare(each);
}

/** "gatewayctl token issue" */
export function fullName(command: Command): string {
  return [...(command.parent ? [fullName(command.parent)] : []), command.name()].join(' ');
}
