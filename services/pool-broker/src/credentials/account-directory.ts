import type { AccountConfig, Credential, GatewayConfig } from '@gateway/config';
import { accountIdOf } from '../accounts/account.ts';
import type { StoredAccount } from './account-table.ts';
import type { RefusalReason } from './credential-events.ts';
import type { CredentialStorage } from './credential-storage.ts';
import { fromCredentialText } from './credential-text.ts';
import type { OAuthAccount } from './grant-store.ts';

/** Which accounts there are: those of gateway.yaml, those of the database, and among both those that need a person. */
export class AccountDirectory {
  readonly #storage: CredentialStorage;
  readonly #onRefused: (counts: Readonly<Record<RefusalReason, number>>) => void;
  #file: GatewayConfig;
  #stored: readonly StoredAccount[] = [];
  #problems: ReadonlyMap<string, string> = new Map();
  #refused = '[]';

  /** `onRefused` is called once for each change, with how many accounts of the database are not used. */
  constructor(
    file: GatewayConfig,
    storage: CredentialStorage,
    onRefused: (counts: Readonly<Record<RefusalReason, number>>) => void = () => undefined,
  ) {
    this.#file = file;
    this.#storage = storage;
    this.#onRefused = onRefused;
  }

  /** What is configured now, with all accounts. */
  get gateway(): GatewayConfig {
    return this.gatewayWith(this.#file);
  }

  /** The same with another file. */
  gatewayWith(file: GatewayConfig): GatewayConfig {
    const accounts = [...file.accounts, ...this.#usable(file).accounts];
    return { ...file, accounts: accounts.map((account) => this.#withProblem(account)) };
  }

  useFile(file: GatewayConfig): void {
    this.#file = file;
    this.#reportRefused();
  }

  /** Reads what is shared anew. Rejects when it can't be; then the last known is kept. */
  async read(): Promise<void> {
    const { table, grants } = this.#storage;
    if (table !== undefined) {
      this.#stored = await table.list();
      this.#reportRefused();
    }
    this.#problems = await grants.problems(this.oauthAccounts);
  }

  get oauthAccounts(): readonly OAuthAccount[] {
    return this.gateway.accounts.flatMap(({ pool, name, credential }) =>
      credential.kind === 'oauth' ? [{ id: accountIdOf({ pool, name }), pool, credential }] : [],
    );
  }

  /** The accounts of the database that can be used beside those of the file, which has the first say in names. */
  #usable({ pools, accounts: inFile }: GatewayConfig) {
    const accounts: AccountConfig[] = [];
    const refused: { readonly id: string; readonly reason: RefusalReason }[] = [];
    for (const stored of this.#stored) {
      const { id, pool, name, models, maxConcurrency, state } = stored;
      const credential = this.#decrypt(stored);
      if (inFile.some((account) => accountIdOf(account) === id)) refused.push({ id, reason: 'name_in_file' });
      else if (!pools.some((known) => known.name === pool)) refused.push({ id, reason: 'unknown_pool' });
      else if (typeof credential === 'string') refused.push({ id, reason: credential });
      else accounts.push({ pool, name, models, maxConcurrency, state, credential });
    }
    return { accounts, refused };
  }

  #decrypt(account: StoredAccount): Credential | 'unknown_key' | 'damaged' {
    const { encryption } = this.#storage;
    if (encryption === undefined) return 'unknown_key';
    // Encrypted for the id: pool and name are only believed as far as they are it.
    if (account.id !== accountIdOf(account)) return 'damaged';
    const decrypted = encryption.decrypt({ accountId: account.id, field: 'credential' }, account.credential);
    return decrypted.kind === 'refused' ? decrypted.reason : (fromCredentialText(decrypted.text) ?? 'damaged');
  }

  #withProblem(account: AccountConfig): AccountConfig {
    const problem = this.#problems.get(accountIdOf(account));
    const isDisabled = problem !== undefined && account.credential.kind === 'oauth';
    return isDisabled ? { ...account, state: 'disabled', note: problem } : account;
  }

  #reportRefused(): void {
    const { refused } = this.#usable(this.#file);
    if (JSON.stringify(refused) === this.#refused) return;
    this.#refused = JSON.stringify(refused);
    const counts = { unknown_key: 0, damaged: 0, unknown_pool: 0, name_in_file: 0 };
    for (const { reason } of refused) counts[reason]++;
    this.#onRefused(counts);
  }
}
