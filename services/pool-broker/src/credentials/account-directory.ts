import type { AccountConfig, GatewayConfig, GatewayText } from '@gateway/config';
import type { EncryptionKey } from '@gateway/config/encryption';
import type { AccountUsesTable, GatewayDatabase } from '@gateway/database';
import { accountIdOf } from '../accounts/account.ts';
import type { RefusalReason } from '../metrics.ts';
import { AccountTable, type StoredAccountRow, toAccountConfig, useBeside } from './account-table.ts';
import { Encryption } from './encryption.ts';
import { databaseGrants, type GrantStore, grantIdOf, memoryGrants, type OAuthAccount } from './grants.ts';

/** A stored account that is not used. */
export interface RefusedAccount {
  readonly row: StoredAccountRow;
  readonly reason: RefusalReason;
}

/** The parts of the file that determine which stored accounts are used. */
type FileParts = Pick<GatewayText, 'pools' | 'accounts'>;

interface StoredAccount {
  readonly row: StoredAccountRow;
  /** The account, or why it is unusable whatever the file contains. */
  readonly account: AccountConfig | RefusalReason;
}

/**
 * All accounts: those of gateway.yaml and those of the database, with the grants and problems of
 * both.
 */
export class AccountDirectory {
  /**
   * Stored in the database. Without a database or a key, grants exist in this process only, because
   * tokens are never stored as plain text.
   */
  readonly grants: GrantStore;
  /** Undefined without a key. */
  readonly encryption: Encryption | undefined;
  /** Undefined without a database. */
  readonly stored: AccountTable | undefined;
  file: GatewayConfig;
  #rows: readonly StoredAccount[] = [];
  #uses: ReadonlyMap<string, AccountUsesTable> = new Map();
  #problems: ReadonlyMap<string, string> = new Map();
  #reading: Promise<unknown> = Promise.resolve();

  constructor(file: GatewayConfig, keys: readonly EncryptionKey[], database: GatewayDatabase | undefined) {
    this.file = file;
    this.encryption = keys.length === 0 ? undefined : new Encryption(keys);
    this.stored = database && new AccountTable(database);
    const shared = database && this.encryption && databaseGrants(database, this.encryption);
    this.grants = shared ?? memoryGrants();
  }

  get gateway(): GatewayConfig {
    return this.gatewayWith(this.file);
  }

  gatewayWith(file: GatewayConfig): GatewayConfig {
    const ofFile = file.accounts.map((account) => this.#withUse(account));
    const stored = this.usableBeside(file).map((account) => withSimulationNoted(account, file));
    return { ...file, accounts: [...ofFile, ...stored].map((account) => this.#withProblem(account)) };
  }

  /** The stored accounts that can be used together with a file. */
  usableBeside(file: FileParts): readonly AccountConfig[] {
    return this.#storedBeside(file).filter(isUsable);
  }

  /** The stored accounts that are not used, and why. */
  get refused(): readonly RefusedAccount[] {
    return this.#storedBeside(this.file).flatMap((account) => (isUsable(account) ? [] : [account]));
  }

  get oauthAccounts(): readonly (OAuthAccount & Pick<AccountConfig, 'state'>)[] {
    return this.gateway.accounts.flatMap(({ pool, name, credential, state }) =>
      credential.kind === 'oauth' ? [{ id: accountIdOf({ pool, name }), pool, credential, state }] : [],
    );
  }

  /** The file's account with that id, whatever the database contains. */
  ofFile(accountId: string): AccountConfig | undefined {
    return this.file.accounts.find((account) => accountIdOf(account) === accountId);
  }

  /** Reads the shared state again. If that fails, it rejects and keeps the last known state. */
  read(): Promise<void> {
    // One read at a time, so that the latest read determines the state.
    const reading = this.#reading.then(() => this.#read());
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #read(): Promise<void> {
    const uses = (await this.stored?.listUses()) ?? [];
    const rows = (await this.stored?.list()) ?? [];
    this.#rows = rows.map((row) => ({ row, account: toAccountConfig(row, this.encryption) }));
    this.#uses = new Map(uses.map((row) => [row.account_id, row]));
    this.#problems = await this.grants.problems();
  }

  /**
   * The stored accounts beside those of a file, or why they are not used. On a name conflict the
   * file has precedence.
   */
  #storedBeside(file: FileParts): readonly (AccountConfig | RefusedAccount)[] {
    const ids = new Set(file.accounts.map(({ pool = '', name = '' }) => accountIdOf({ pool, name })));
    const pools = new Set(file.pools.map(({ name }) => name));
    return this.#rows.map(({ row, account }) => {
      if (ids.has(row.account_id)) return { row, reason: 'name_in_file' };
      if (!pools.has(row.pool)) return { row, reason: 'unknown_pool' };
      return typeof account === 'string' ? { row, reason: account } : account;
    });
  }

  #withUse(account: AccountConfig): AccountConfig {
    const { state: said } = account;
    const state = useBeside(said, this.#uses.get(accountIdOf(account)));
    if (state === said) return account;
    const beside = this.file.source === undefined ? '' : `; gateway.yaml has ${said}`;
    return { ...account, state, note: `An operator set it to ${state}${beside}.` };
  }

  #withProblem(account: AccountConfig): AccountConfig {
    const { credential } = account;
    if (credential.kind !== 'oauth') return account;
    const problem = this.#problems.get(grantIdOf({ id: accountIdOf(account), credential }));
    return problem === undefined ? account : { ...account, use: account.state, state: 'disabled', note: problem };
  }
}

/** The built-in simulator replaces providers only in a gateway that starts without any account. */
function withSimulationNoted(account: AccountConfig, { source, pools }: GatewayConfig): AccountConfig {
  const isSimulated = pools.some(({ name, simulated }) => name === account.pool && simulated);
  if (source !== undefined || !isSimulated) return account;
  return { ...account, note: 'A simulator answers for it until you restart the gateway.' };
}

function isUsable(account: AccountConfig | RefusedAccount): account is AccountConfig {
  return !('reason' in account);
}
