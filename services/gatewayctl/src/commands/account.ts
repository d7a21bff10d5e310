import type { Environment } from '@gateway/config';
import { Command, InvalidArgumentError, Option } from 'commander';
import { processTerminal, type Terminal } from '../output/terminal.ts';
import { type AddFlags, addAccount, credentialKinds } from './account/add-account.ts';
import { changeAccount, enableAccount, removeAccount } from './account/change-account.ts';
import { type ListFlags, listAccounts } from './account/list-accounts.ts';
import { standardInput } from './account/read-secret.ts';
import { rotateAccountKeys } from './account/rotate-account-keys.ts';

/** `gatewayctl account …` */
export function accountCommand(env: Environment): Command {
  return new Command('account')
    .description(
      "Look at provider accounts, and manage those in the gateway's database. Running gateways notice within seconds. Accounts of gateway.yaml are changed there.",
    )
    .addCommand(list(env))
    .addCommand(add(env))
    .addCommand(
      onAccount(
        'remove',
        'Forget an account and its tokens. What runs with it ends as it would have.',
        (id, terminal) => removeAccount(env, id, terminal),
      ),
    )
    .addCommand(
      onAccount(
        'enable',
        'Use an account again, one of gateway.yaml too, that a provider or a person took out of service. A refresh token that was refused is tried once more.',
        (id, terminal) => enableAccount(env, id, terminal),
      ),
    )
    .addCommand(
      onAccount('drain', 'Give an account nothing new. What runs with it ends as it would have.', (id, terminal) =>
        changeAccount(env, id, 'draining', terminal),
      ),
    )
    .addCommand(
      onAccount('disable', 'Use an account no more.', (id, terminal) => changeAccount(env, id, 'disabled', terminal)),
    )
    .addCommand(rotate(env));
}

/** A command that does one thing to one account. */
function onAccount(name: string, description: string, act: (id: string, terminal: Terminal) => Promise<void>): Command {
  return new Command(name)
    .description(description)
    .argument('<pool/name>', 'as in the list', accountId)
    .action(async (id: string) => act(id, processTerminal()));
}

function list(env: Environment): Command {
  return new Command('list')
    .description(
      'List accounts with their health. Without a running gateway health is not known and all count as available.',
    )
    .option('--pool <name>', 'only this pool')
    .option('--json', 'as JSON, one account a line')
    .action(async (flags: ListFlags) => listAccounts(env, flags, processTerminal()));
}

function add(env: Environment): Command {
  return new Command('add')
    .description(
      'Add an account. Its secret (for oauth: the refresh token) is read from standard input or a file, kept sealed with ACCOUNT_KEYS, and never shown. Pooling accounts must be allowed by the provider.',
    )
    .argument('<pool/name>', 'such as responses/team-b', accountId)
    .addOption(
      new Option('--kind <kind>', 'bearer: Authorization: Bearer; api_key: x-api-key; oauth: by refresh token')
        .choices(credentialKinds)
        .default('bearer'),
    )
    .option('--secret-file <path>', 'read the secret from this file; "-" or nothing: standard input')
    .option('--max-concurrency <number>', 'requests at a time; not limited unless given', wholeNumber)
    .option('--models <ids>', 'model ids it may serve, with commas; * stands for any text', commaList)
    .option('--token-url <url>', "oauth: the provider's token endpoint")
    .option('--client-id <id>', 'oauth: who asks')
    .option('--client-secret-file <path>', "oauth: read the client's secret from this file, if it has one")
    .option('--scopes <names>', 'oauth: scopes to ask for, with commas', commaList)
    .action(async (id: string, flags: AddFlags) => addAccount(env, id, flags, standardInput, processTerminal()));
}

function rotate(env: Environment): Command {
  return new Command('rotate-keys')
    .description(
      'Seal everything anew with the first of ACCOUNT_KEYS. Every broker must have that key before. Exits 1 when something could not be opened. Safe to repeat.',
    )
    .action(async () => {
      const { refused } = await rotateAccountKeys(env, processTerminal());
      if (refused.length > 0) process.exitCode = 1;
    });
}

function accountId(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9._-]*\/[A-Za-z0-9][A-Za-z0-9._@-]*$/.test(text)) return text;
  throw new InvalidArgumentError('It is written pool/name, such as responses/team-b.');
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  return value;
}

function commaList(text: string): readonly string[] {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) throw new InvalidArgumentError('It is empty.');
  return parts;
}
