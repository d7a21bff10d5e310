import type { AccountConfig, GatewayConfig } from '@gateway/config';
import type { RefusalReason } from './credential-events.ts';
import type { GrantStore } from './grants/grant-store.ts';
import { grantKeyOf, type OAuthAccount } from './oauth/oauth-account.ts';
import type { Sealer } from './sealing/sealer.ts';
import type { AccountTable } from './stored-accounts/account-table.ts';
import { openAccounts, type RefusedAccount } from './stored-accounts/open-accounts.ts';
import type { StoredAccount } from './stored-accounts/stored-account.ts';

export interface DirectoryParts {
  /** Undefined: there is no database. */
  readonly table: AccountTable | undefined;
  readonly grants: GrantStore;
  /** Undefined: there is no key, and no account in the database can be used. */
  readonly sealer: Sealer | undefined;
  /** Told once for each change how many accounts of the database are not used. */
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
    const accounts = [...file.accounts, ...openAccounts(this.#stored, file, this.#parts.sealer).accounts];
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
    this.#problems = await grants.problems(this.oauthAccounts.map(grantKeyOf));
  }

  get oauthAccounts(): readonly OAuthAccount[] {
    return this.gateway.accounts.flatMap(({ pool, name, credential }) =>
      credential.kind === 'oauth' ? [{ id: `${pool}/${name}`, pool, credential }] : [],
    );
  }

  #withProblem(account: AccountConfig): AccountConfig {
    const problem = this.#problems.get(`${account.pool}/${account.name}`);
    return problem === undefined || account.credential.kind !== 'oauth'
      ? account
      : { ...account, state: 'disabled', note: problem };
  }

  /** Said once for each change. */
  #reportRefused(): void {
    const { refused } = openAccounts(this.#stored, this.#file, this.#parts.sealer);
    const text = JSON.stringify(refused);
    if (text === this.#refused || (this.#refused === '' && refused.length === 0)) return;
    this.#refused = text;
    this.#parts.onRefused(countsOf(refused));
  }
}

function countsOf(refused: readonly RefusedAccount[]): Record<RefusalReason, number> {
  const counts = { unknown_key: 0, damaged: 0, unknown_pool: 0, name_in_file: 0 };
  for (const { reason } of refused) counts[reason]++;
  return counts;
}
