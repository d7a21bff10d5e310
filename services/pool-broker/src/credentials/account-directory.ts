import type { AccountConfig, Credential, GatewayConfig } from '@gateway/config';
import type { AccountTable, StoredAccount } from './account-table.ts';
import type { RefusalReason } from './credential-events.ts';
import { fromCredentialText } from './credential-text.ts';
import type { Encryption } from './encryption.ts';
import type { GrantStore, OAuthAccount } from './grant-store.ts';

export interface DirectoryParts {
  /** Undefined: there is no database. */
  readonly table: AccountTable | undefined;
  readonly grants: GrantStore;
  /** Undefined: there is no key, and no account in the database can be used. */
  readonly encryption: Encryption | undefined;
  /** Called once for each change, with how many accounts of the database are not used. */
  readonly onRefused: (counts: Readonly<Record<RefusalReason, number>>) => void;
}

/** Which accounts there are: those of gateway.yaml, those of the database, and among both those that need a person. */
export class AccountDirectory {
  readonly #parts: DirectoryParts;
  #file: GatewayConfig;
  #stored: readonly StoredAccount[] = [];
  #problems: ReadonlyMap<string, string> = new Map();
  #refused = '';

  constructor(file: GatewayConfig, parts: DirectoryParts) {
    this.#parts = parts;
    this.#file = file;
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
    const { table, grants } = this.#parts;
    if (table !== undefined) {
      this.#stored = await table.list();
      this.#reportRefused();
    }
    this.#problems = await grants.problems(this.oauthAccounts);
  }

  get oauthAccounts(): readonly OAuthAccount[] {
    return this.gateway.accounts.flatMap(({ pool, name, credential }) =>
      credential.kind === 'oauth' ? [{ id: `${pool}/${name}`, pool, credential }] : [],
    );
  }

  /** The accounts of the database that can be used beside those of the file, which has the first say in names. */
  #usable({ pools, accounts: inFile }: GatewayConfig): UsableAccounts {
    const accounts: AccountConfig[] = [];
    const refused: RefusedAccount[] = [];
    for (const { id, pool, name, models, maxConcurrency, state, ...stored } of this.#stored) {
      const credential = this.#decrypt({ id, pool, name, credential: stored.credential });
      if (inFile.some((account) => `${account.pool}/${account.name}` === id))
        refused.push({ id, reason: 'name_in_file' });
      else if (!pools.some((known) => known.name === pool)) refused.push({ id, reason: 'unknown_pool' });
      else if (typeof credential === 'string') refused.push({ id, reason: credential });
      else accounts.push({ pool, name, models, maxConcurrency, state, credential });
    }
    return { accounts, refused };
  }

  #decrypt({ id, pool, name, credential }: NamedEnvelope): Credential | 'unknown_key' | 'damaged' {
    const { encryption } = this.#parts;
    if (encryption === undefined) return 'unknown_key';
    // Encrypted for the id: pool and name are only believed as far as they are it.
    if (id !== `${pool}/${name}`) return 'damaged';
    const decrypted = encryption.decrypt({ accountId: id, field: 'credential' }, credential);
    return decrypted.kind === 'refused' ? decrypted.reason : (fromCredentialText(decrypted.text) ?? 'damaged');
  }

  #withProblem(account: AccountConfig): AccountConfig {
    const problem = this.#problems.get(`${account.pool}/${account.name}`);
    return problem === undefined || account.credential.kind !== 'oauth'
      ? account
      : { ...account, state: 'disabled', note: problem };
  }

  #reportRefused(): void {
    const { refused } = this.#usable(this.#file);
    const text = JSON.stringify(refused);
    if (text === this.#refused || (this.#refused === '' && refused.length === 0)) return;
    this.#refused = text;
    const counts = { unknown_key: 0, damaged: 0, unknown_pool: 0, name_in_file: 0 };
    for (const { reason } of refused) counts[reason]++;
    this.#parts.onRefused(counts);
  }
}

interface UsableAccounts {
  readonly accounts: readonly AccountConfig[];
  readonly refused: readonly RefusedAccount[];
}

interface RefusedAccount {
  readonly id: string;
  readonly reason: RefusalReason;
}

type NamedEnvelope = Pick<StoredAccount, 'id' | 'pool' | 'name' | 'credential'>;
