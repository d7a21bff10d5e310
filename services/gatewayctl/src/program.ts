import { EventEmitter } from 'node:events';
import { versionText } from '@gateway/telemetry/build';
import { Command, type Option } from 'commander';
import { commaList } from './commands/comma-list.ts';
import type { CommandContext } from './commands/context.ts';

/**
 * The command line. It throws all errors: CommanderError if the command line is invalid.
 *
 * @param words only the groups that these words name are complete; the others have a summary, which
 * is enough for help and completion. Loading code is most of the work of a command. Undefined: all
 * are complete.
 */
export async function buildProgram({ env, connect }: CommandContext, words?: readonly string[]): Promise<Command> {
  const program = new Command('gatewayctl')
    .description(
      'Runs and operates the model gateway. Commands call the admin service at GATEWAY_ADMIN_URL (default: http://127.0.0.1:9090). If no gateway runs on this machine, most commands use its database directly.',
    )
    .version(versionText('gatewayctl').trim())
    .option('--offline', 'use the database of this environment, whether or not a gateway runs');
  const isOffline = () => program.opts<{ readonly offline?: true }>().offline;
  const context: CommandContext = { env, connect: (options) => connect({ ...options, offline: isOffline() }) };
  for (const [name, { summary, load }] of Object.entries(groups)) {
    const group = (words?.includes(name) ?? true) ? await load(context) : new Command(name);
    program.addCommand(group.summary(summary), { hidden: summary === '' });
  }
  prepare(program);
  return program.configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() });
}

interface Group {
  /** In the list of all commands. Empty: for programs only. */
  readonly summary: string;
  readonly load: (context: CommandContext) => Promise<Command>;
}

/** In the order of the list. */
const groups: Readonly<Record<string, Group>> = {
  start: {
    summary: 'Runs the whole gateway.',
    load: async ({ env }) => (await import('./commands/process.ts')).startCommand(env),
  },
  migrate: {
    summary: 'Migrates the database.',
    load: async ({ env }) => (await import('./commands/process.ts')).migrateCommand(env),
  },
  login: {
    summary: 'Stores your operator token for a gateway.',
    load: async (context) => (await import('./commands/session.ts')).loginCommand(context),
  },
  logout: {
    summary: 'Deletes the stored token.',
    load: async (context) => (await import('./commands/session.ts')).logoutCommand(context),
  },
  whoami: {
    summary: 'Shows who you are signed in as.',
    load: async (context) => (await import('./commands/session.ts')).whoamiCommand(context),
  },
  person: {
    summary: 'Manages people who sign in from their client.',
    load: async (context) => (await import('./commands/person.ts')).personCommand(context),
  },
  group: {
    summary: 'Manages groups of tokens, with their limits and budgets.',
    load: async (context) => (await import('./commands/group.ts')).groupCommand(context),
  },
  token: {
    summary: 'Manages the tokens of callers.',
    load: async (context) => (await import('./commands/token.ts')).tokenCommand(context),
  },
  snippet: {
    summary: 'Prints the settings that a client needs.',
    load: async (context) => (await import('./commands/snippet.ts')).snippetCommand(context),
  },
  account: {
    summary: 'Manages provider accounts.',
    load: async (context) => (await import('./commands/account.ts')).accountCommand(context),
  },
  pool: {
    summary: 'Shows the state of account pools, and explains routing.',
    load: async (context) => (await import('./commands/pool.ts')).poolCommand(context),
  },
  class: {
    summary: 'Shows the model classes that clients can use.',
    load: async (context) => (await import('./commands/class.ts')).classCommand(context),
  },
  request: {
    summary: 'Shows how requests were routed, and why.',
    load: async (context) => (await import('./commands/request.ts')).requestCommand(context),
  },
  usage: {
    summary: 'Reports and exports usage, and repairs the ledger.',
    load: async (context) => (await import('./commands/usage.ts')).usageCommand(context),
  },
  config: {
    summary: 'Shows and checks the configuration.',
    load: async (context) => (await import('./commands/config.ts')).configCommand(context),
  },
  import: {
    summary: 'Translates the configuration of another gateway.',
    load: async () => (await import('./commands/import.ts')).importCommand(),
  },
  shadow: {
    summary: 'Compares the answers of another gateway with those of this one.',
    load: async (context) => (await import('./commands/shadow.ts')).shadowCommand(context),
  },
  system: {
    summary: 'Shows the health, traffic and replicas of the gateway.',
    load: async (context) => (await import('./commands/system.ts')).systemCommand(context),
  },
  doctor: {
    summary: 'Checks every part of the gateway, and suggests fixes.',
    load: async (context) => (await import('./commands/doctor.ts')).doctorCommand(context),
  },
  operator: {
    summary: 'Manages operators, who can sign in.',
    load: async (context) => (await import('./commands/operator.ts')).operatorCommand(context),
  },
  alert: {
    summary: 'Shows warnings that were sent, and tests their receivers.',
    load: async (context) => (await import('./commands/alert.ts')).alertCommand(context),
  },
  audit: {
    summary: 'Shows who changed what.',
    load: async (context) => (await import('./commands/audit.ts')).auditCommand(context),
  },
  completion: {
    summary: 'Prints a script that completes commands in a shell.',
    load: async () => (await import('./commands/completion.ts')).completionCommand(),
  },
  complete: {
    summary: '',
    load: async () => (await import('./commands/completion.ts')).completeCommand(),
  },
};

/** It throws its errors, accepts each option once, and its help includes the global flags. */
function prepare(command: Command): void {
  command.exitOverride().configureHelp({ showGlobalOptions: true });
  for (const option of command.options) refuseRepetition(command, option);
  if (command.parent) command.showHelpAfterError(`(see ${fullName(command)} --help)`);
  for (const each of command.commands) prepare(each);
}

/** Commander would silently use the last value. */
function refuseRepetition(command: Command, option: Option): void {
  // Commander's types leave this out. Its own listener, which comes later, takes the new value.
  if (!(command instanceof EventEmitter)) return;
  const name = option.attributeName();
  command.prependListener(`option:${option.name()}`, () => {
    if (command.getOptionValueSource(name) !== 'cli') return;
    const remedy =
      option.parseArg === commaList
        ? `Write it once, with commas between the values: ${option.long} one,two`
        : 'Write it once.';
    command.error(`error: option '${option.flags}' is given more than once. ${remedy}`);
  });
}

/** "gatewayctl token issue" */
export function fullName(command: Command): string {
  return [...(command.parent ? [fullName(command.parent)] : []), command.name()].join(' ');
}
