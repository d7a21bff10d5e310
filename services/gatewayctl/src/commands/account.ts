import { ConfigError, type Environment, readSettings } from '@gateway/config/env-reader';
import { isFailing, lastErrorText } from '@gateway/presentation/account-error-text';
import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import {
  type Account,
  type AccountError,
  AccountSchema,
  AccountState,
  AccountUse,
  AttemptResult,
  type Cooldown,
  ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import { epochMs } from '@gateway/time';
import { Command } from 'commander';
import { readAdminAddress } from '../connection/admin-address.ts';
import type { AdminConnection } from '../connection/admin-connection.ts';
import { askAdminPort } from '../connection/signs-of-gateway.ts';
import { UsageError } from '../failures.ts';
import { note, type OutputFlags, printList, withOutput } from '../output/print.ts';
import type { Cell, Columns } from '../output/table.ts';
import { durationText, enumWord, timeText } from '../output/words.ts';
import {
  type CredentialFlags,
  type CredentialKind,
  checkFlags,
  readCredential,
  withCredential,
} from './account/credential-input.ts';
import { commaList } from './comma-list.ts';
import { type CommandContext, noteChange } from './context.ts';
import { accountId, wholeNumber } from './flags.ts';

/** `gatewayctl account …` */
export function accountCommand({ env, connect }: CommandContext): Command {
  const account = new Command('account').description(
    "Manages provider accounts in the gateway's database. Accounts that a gateway.yaml or a variable such as OPENAI_API_KEY defines are changed there. <account> is pool/name, or a name that is unique across pools.",
  );
  withOutput(account.command('list'))
    .description(
      'Lists accounts with their health. Without a running gateway, health is unknown and all accounts count as available.',
    )
    .option('--pool <name>', 'only this pool')
    .action(async ({ pool = '', ...output }: OutputFlags & { readonly pool?: string }) => {
      await using admin = await connect({ reads: true });
      const whenNone = 'No accounts. Add one with gatewayctl account add.';
      await printList(output, AccountSchema, [await accountsOf(admin, pool)], { columns, whenNone });
    });
  withCredential(account.command('add'))
    .description(
      'Adds an account. Reads its secret (for oauth, the refresh token) from standard input or a file; stores it encrypted and never shows it. Check that the provider allows the pooling of accounts.',
    )
    .argument('<pool/name>', 'such as responses/team-b', accountId)
    .option('--max-concurrency <number>', 'maximum concurrent requests; 0: unlimited', wholeNumber(1, 2 ** 32 - 1), 0)
    .option('--models <ids>', 'model ids that it may serve, separated by commas; * matches any text', commaList)
    .option('--labels <labels>', 'labels to which groups and tokens can be restricted, separated by commas', commaList)
    .action(async (id: string, { maxConcurrency, models = [], labels = [], ...flags }: AddFlags) => {
      checkFlags(flags);
      await using admin = await connect();
      const [pool = '', name = ''] = id.split('/');
      const { kind, credential } = await readCredential(flags, () => usualKind(admin, id), process.stdin);
      const account = { pool, name, models: [...models], labels: [...labels], maxConcurrency };
      const request = { account, credential };
      await admin.clientOf(AccountService).addAccount(request);
      noteChange(admin, `added ${id} (${kind})`);
      // Adding asks no provider, and only a running gateway can.
      note(`check it with gatewayctl doctor --probe${admin.database === undefined ? '' : ', once the gateway runs'}`);
    });
  withCredential(account.command('replace-credential'))
    .description('Replaces the secret of an account in the database, and clears the errors that the old secret caused.')
    .argument('<account>', 'pool/name, or a unique name')
    .action(async (named: string, flags: CredentialFlags) => {
      checkFlags(flags);
      await using admin = await connect();
      const accountId = await findAccountId(admin, named);
      const { kind, credential } = await readCredential(flags, () => usualKind(admin, accountId), process.stdin);
      await admin.clientOf(AccountService).replaceCredential({ accountId, credential });
      noteChange(admin, `replaced the credential of ${accountId} (${kind})`);
    });
  const useCommand = (name: string, use: AccountUse, description: string) =>
    account
      .command(name)
      .description(description)
      .argument('<account>', 'pool/name, or a unique name')
      .action(async (named: string) => {
        await using admin = await connect();
        const accountId = await findAccountId(admin, named);
        const { ended } = await admin.clientOf(AccountService).setAccountState({ accountId, use });
        noteChange(admin, `${accountId} is ${enumWord(AccountUse, use)}`);
        for (const cooldown of ended) note(`ended its pause for ${cooldownText(cooldown)}`);
        if (ended.length > 0)
          note('if the cause lasts, the provider refuses the next request, and the account pauses again');
      });
  useCommand(
    'enable',
    AccountUse.ACTIVE,
    'Puts an account back into service after a provider or an operator disabled it, and ends all its pauses at once: after limits, refusals, missing credit and errors, and for single models and features. Retries a rejected refresh token once.',
  );
  useCommand('drain', AccountUse.DRAINING, 'Sends an account no new requests. Requests in flight complete.');
  useCommand('disable', AccountUse.DISABLED, 'Disables an account. Requests in flight complete.');
  account
    .command('label')
    .description(
      'Replaces the labels of an account. Groups and tokens can be restricted to accounts with certain labels.',
    )
    .argument('<account>', 'pool/name, or a unique name')
    .argument('<labels>', 'labels, separated by commas, or none', commaList)
    .action(async (named: string, given: readonly string[]) => {
      const labels = given.length === 1 && given[0] === 'none' ? [] : [...given];
      await using admin = await connect();
      const accountId = await findAccountId(admin, named);
      await admin.clientOf(AccountService).setAccountLabels({ accountId, labels });
      noteChange(admin, `${accountId} has ${labels.length === 0 ? 'no labels' : `the labels ${labels.join(', ')}`}`);
    });
  account
    .command('remove')
    .description('Deletes an account from the database, with its stored tokens. Requests in flight complete.')
    .argument('<account>', 'pool/name, or a unique name')
    .action(async (named: string) => {
      await using admin = await connect();
      const accountId = await findAccountId(admin, named);
      await admin.clientOf(AccountService).removeAccount({ accountId });
      noteChange(admin, `removed ${accountId}`);
    });
  account
    .command('rotate-keys')
    .description(
      'Re-encrypts all stored secrets with the first key of ACCOUNT_KEYS, directly in the database: set DATABASE_URL and ACCOUNT_KEYS as for the brokers. Give that key to every broker first. Exits with status 1 if something cannot be decrypted. Safe to repeat.',
    )
    .action((_flags, command: Command) => rotateInDatabase(env, command.optsWithGlobals().offline));
  return account;
}

async function accountsOf(admin: AdminConnection, pool: string): Promise<readonly Account[]> {
  const { overview } = await admin.clientOf(PoolService).listPools({ pool });
  return overview?.pools.flatMap(({ accounts }) => accounts) ?? [];
}

/** The present kind of the account, or the one that providers of its pool's format expect. */
async function usualKind(admin: AdminConnection, accountId: string): Promise<CredentialKind> {
  const { overview } = await admin.clientOf(PoolService).listPools({});
  const status = overview?.pools.find(({ pool }) => pool?.name === accountId.split('/')[0]);
  const present = status?.accounts.find(({ id }) => id === accountId)?.credentialKind;
  if (present === 'bearer' || present === 'api_key') return present;
  return status?.pool?.format === ProviderFormat.MESSAGES ? 'api_key' : 'bearer';
}

/** @throws UsageError for a name that two pools have. */
async function findAccountId(admin: AdminConnection, named: string): Promise<string> {
  if (named.includes('/')) return named;
  const found = (await accountsOf(admin, '')).filter(({ name }) => name === named).map(({ id }) => id);
  if (found.length === 1) return found.join();
  if (found.length > 1) throw new UsageError(`${named} matches ${found.join(' and ')}. Use the full name.`);
  throw new Error(`no account ${named}. Run gatewayctl account list to see all accounts.`);
}

const columns: Columns<Account> = {
  pool: ({ pool }) => pool,
  account: ({ name }) => name,
  state: accountStateCell,
  'in flight': ({ inFlight }) => inFlight,
  labels: { of: ({ labels }) => labels.join(', '), spare: true },
  from: { of: ({ source, stored }) => source || (stored ? 'database' : ''), spare: true },
  cooldowns: ({ cooldowns }) => cooldowns.map(cooldownText).join('; '),
  note: (account) => account.note,
  'last error': ({ lastError }) => lastErrorCell(lastError, epochMs()),
};

/** "all models until 2026-11-28 20:00:00 UTC (rate_limited)" */
function cooldownText({ untilMs, model, feature, reason }: Cooldown): string {
  const end = timeText(untilMs, 'an operator enables it');
  return `${model || feature || 'all models'} until ${end} (${enumWord(AttemptResult, reason)})`;
}

/** An account that is available but whose last attempts all failed is failing. */
export function accountStateCell(account: Pick<Account, 'state' | 'lastError'>): Cell {
  const { state } = account;
  if (state === AccountState.AVAILABLE && isFailing(account)) return { text: 'failing', color: 'red' };
  const word = state === AccountState.UNSPECIFIED ? 'not used' : enumWord(AccountState, state);
  if (state === AccountState.AVAILABLE) return { text: word, color: 'green' };
  return { text: word, color: state === AccountState.DISABLED ? 'red' : 'yellow' };
}

export function lastErrorCell(error: AccountError | undefined, nowMs: number): string {
  if (error === undefined) return '';
  return lastErrorText(error, durationText(Math.max(0, nowMs - error.atMs)));
}

interface AddFlags extends CredentialFlags {
  readonly maxConcurrency: number;
  readonly models?: readonly string[];
  readonly labels?: readonly string[];
}

/**
 * Works on the database itself. Without DATABASE_URL, this is refused if a gateway runs that does
 * not use the folder's database: the operator would remove a key that the other database needs.
 */
async function rotateInDatabase(env: Environment, isOffline = false): Promise<void> {
  const { url, isNamed } = readAdminAddress(env);
  const { DataFolder } = await import('@gateway/all-in-one/data-folder');
  const isChosen = isOffline || readSettings(env, (reader) => reader.optional('DATABASE_URL')) !== undefined;
  if (!isChosen && (await DataFolder.ownerOf(env)) === undefined) {
    if (isNamed) throw new ConfigError([`GATEWAY_ADMIN_URL names a gateway, but ${adviceForDatabase}`]);
    if ((await askAdminPort({ url, isNamed })) !== 'nothing')
      throw new ConfigError([`A gateway responds at ${url}, but ${adviceForDatabase}`]);
  }
  const { rotateAccountKeys } = await import('@gateway/all-in-one/rotate-account-keys');
  await rotateAccountKeys(env, note);
}

const adviceForDatabase =
  'DATABASE_URL is not set, and rotate-keys works on the database. Set DATABASE_URL and ACCOUNT_KEYS as for the pool-broker; for an embedded database, set GATEWAY_DATA as for its gateway, or use --offline.';
