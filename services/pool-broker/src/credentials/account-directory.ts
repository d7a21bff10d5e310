import { once } from 'node:events';
import type { AccountConfig, GatewayConfig } from '@gateway/config';
import type { AccountsTable, GatewayDatabase } from '@gateway/database';
import { accountIdOf } from '../accounts/account.ts';
import type { CredentialEvents, RefusalReason } from '../metrics.ts';
import type { AccountCredentials } from './account-credentials.ts';
import { AccountTable, toAccountConfig } from './account-table.ts';
import { type AccountKey, Encryption } from './encryption.ts';
import { DatabaseGrantStore, type GrantStore, grantIdOf, MemoryGrantStore, type OAuthAccount } from './grants.ts';
import type { RefreshContext } from './token-refresher.ts';

/** Which accounts there are: those of gateway.yaml, those of the database, and among both those that need a person. */
export class AccountDirectory {
  /** In the database. Without one, or without a key, in this process only, since tokens are never kept as plain text. */
  readonly grants: GrantStore;
  readonly #encryption: Encryption | undefined;
  readonly #table: AccountTable | undefined;
  file: GatewayConfig;
  #rows: readonly AccountsTable[] = [];
  #problems: ReadonlyMap<string, string> = new Map();

  constructor(file: GatewayConfig, keys: readonly AccountKey[], database: GatewayDatabase | undefined) {
    this.file = file;
    this.#encryption = keys.length === 0 ? undefined : new Encryption(keys);
    this.#table = database && new AccountTable(database);
    const shared = database && this.#encryption && new DatabaseGrantStore(database, this.#encryption);
    this.grants = shared ?? new MemoryGrantStore();
  }

  get gateway(): GatewayConfig {
    return this.gatewayWith(this.file);
  }

  gatewayWith(file: GatewayConfig): GatewayConfig {
    const stored = this.#storedBeside(file).filter((account) => typeof account !== 'string');
    return { ...file, accounts: [...file.accounts, ...stored].map((account) => this.#withProblem(account)) };
  }

  get refusals(): readonly RefusalReason[] {
    return this.#storedBeside(this.file).filter((account) => typeof account === 'string');
  }

  get oauthAccounts(): readonly (OAuthAccount & Pick<AccountConfig, 'state'>)[] {
    return this.gateway.accounts.flatMap(({ pool, name, credential, state }) =>
      credential.kind === 'oauth' ? [{ id: accountIdOf({ pool, name }), pool, credential, state }] : [],
    );
  }

  /** Reads what is shared anew. Rejects when it can't be; then the last known is kept. */
  async read(): Promise<void> {
    this.#rows = (await this.#table?.list()) ?? [];
    this.#problems = await this.grants.problems();
  }

  /** The accounts of the database beside those of a file, which has the first say in names, or why they can't be used. */
  #storedBeside(file: GatewayConfig): readonly (AccountConfig | RefusalReason)[] {
    const ids = new Set(file.accounts.map(accountIdOf));
    const pools = new Set(file.pools.map(({ name }) => name));
    return this.#rows.map((row) => {
      if (ids.has(row.account_id)) return 'name_in_file';
      return pools.has(row.pool) ? toAccountConfig(row, this.#encryption) : 'unknown_pool';
    });
  }

  #withProblem(account: AccountConfig): AccountConfig {
    const { credential } = account;
    if (credential.kind !== 'oauth') return account;
    const problem = this.#problems.get(grantIdOf({ id: accountIdOf(account), credential }));
    return problem === undefined ? account : { ...account, state: 'disabled', note: problem };
  }
}

/** A gateway with the accounts of its database as they are now, for looking at: nothing is refreshed. Without the tables there are none. */
export async function withStoredAccounts(
  gateway: GatewayConfig,
  keys: readonly AccountKey[],
  database: GatewayDatabase,
): Promise<GatewayConfig> {
  const directory = new AccountDirectory(gateway, keys, database);
  await directory.read().catch(() => undefined);
  return directory.gateway;
}

/** Never rejects: what can't be read is read later. */
export async function readAccounts(directory: AccountDirectory, events: CredentialEvents): Promise<void> {
  await directory.read().catch(events.notRead);
  events.accountsRefused(directory.refusals);
}

type FollowContext = Pick<RefreshContext, 'events' | 'changes' | 'signal'> & { readonly pollMs: number };

/** Keeps to the accounts of the database, and access tokens fresh, until the signal is aborted. `apply` gets what is configured each time. */
export async function followAccounts(
  directory: AccountDirectory,
  credentials: AccountCredentials,
  { events, changes, signal, pollMs }: FollowContext,
  apply: (gateway: GatewayConfig) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await readAccounts(directory, events);
    await apply(directory.gateway);
    await credentials.keepFresh(directory.oauthAccounts);
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(pollMs)]);
    await once(changes, 'problem', { signal: waiting }).catch(() => undefined);
  }
}
