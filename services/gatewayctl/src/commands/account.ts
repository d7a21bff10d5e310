import type { Environment } from '@gateway/config';
import { Command, Option } from 'commander';
import { processTerminal } from '../output/terminal.ts';
import { type AddFlags, addAccount, credentialKinds, standardInput } from './account/add-account.ts';
import {
  changeAccount,
  enableAccount,
  type ListFlags,
  listAccounts,
  removeAccount,
  rotateAccountKeys,
} from './account/manage-accounts.ts';
import { accountId, commaList, wholeNumber } from './flags.ts';

/** `gatewayctl account …` */
export function accountCommand(env: Environment): Command {
  const account = new Command('account').description(
    "Look at provider accounts, and manage those in the gateway's database. Running gateways notice within seconds. Accounts of gateway.yaml are changed there.",
  );
  account
    .command('list')
    .description(
      'List accounts with their health. Without a running gateway health is not known and all count as available.',
    )
    .option('--pool <name>', 'only this pool')
    .option('--json', 'as JSON, one account a line')
    .action(async (flags: ListFlags) => listAccounts(env, flags, processTerminal()));
  account
    .command('add')
    .description(
      'Add an account. Its secret (for oauth: the refresh token) is read from standard input or a file, kept encrypted with ACCOUNT_KEYS, and never shown. Pooling accounts must be allowed by the provider.',
    )
    .argument('<pool/name>', 'such as responses/team-b', accountId)
    .addOption(
      new Option('--kind <kind>', 'bearer: Authorization: Bearer; api_key: x-api-key; oauth: by refresh token')
        .choices(credentialKinds)
        .default('bearer'),
    )
    .option('--secret-file <path>', 'read the secret from this file; "-" or nothing: standard input')
    .option('--max-concurrency <number>', 'requests at a time; not limited unless given', wholeNumber(1))
    .option('--models <ids>', 'model ids it may serve, with commas; * stands for any text', commaList)
    .option('--token-url <url>', "oauth: the provider's token endpoint")
    .option('--client-id <id>', 'oauth: who asks')
    .option('--client-secret-file <path>', "oauth: read the client's secret from this file, if it has one")
    .option('--scopes <names>', 'oauth: scopes to ask for, with commas', commaList)
    .action(async (id: string, flags: AddFlags) => addAccount(env, id, flags, standardInput, processTerminal()));
  for (const { name, description, act } of changes) {
    account
      .command(name)
      .description(description)
      .argument('<pool/name>', 'as in the list', accountId)
      .action(async (id: string) => act(env, id, processTerminal()));
  }
  account
    .command('rotate-keys')
    .description(
      'Encrypt everything anew with the first of ACCOUNT_KEYS. Every broker must have that key before. Exits 1 when something could not be decrypted. Safe to repeat.',
    )
    .action(async () => {
      const { refused } = await rotateAccountKeys(env, processTerminal());
      if (refused.length > 0) process.exitCode = 1;
    });
  return account;
}

/** What can be done to one account. */
const changes: readonly { readonly name: string; readonly description: string; readonly act: typeof enableAccount }[] =
  [
    {
      name: 'remove',
      description: 'Forget an account and its tokens. What runs with it ends as it would have.',
      act: removeAccount,
    },
    {
      name: 'enable',
      description:
        'Use an account again, one of gateway.yaml too, that a provider or a person took out of service. A refresh token that was refused is tried once more.',
      act: enableAccount,
    },
    {
      name: 'drain',
      description: 'Give an account nothing new. What runs with it ends as it would have.',
      act: (env, id, terminal) => changeAccount(env, id, 'draining', terminal),
    },
    {
      name: 'disable',
      description: 'Use an account no more.',
      act: (env, id, terminal) => changeAccount(env, id, 'disabled', terminal),
    },
  ];
