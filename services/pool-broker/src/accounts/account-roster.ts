import type { AccountConfig } from '@gateway/config';
import { type Account, toAccount } from './account.ts';

/** Every configured account, by id and by pool. */
export class AccountRoster {
  readonly all: readonly Account[];
  readonly #byId: ReadonlyMap<string, Account>;
  readonly #byPool: ReadonlyMap<string, readonly Account[]>;

  constructor(accounts: readonly AccountConfig[]) {
    this.all = accounts.map(toAccount);
    this.#byId = new Map(this.all.map((account) => [account.id, account]));
    this.#byPool = Map.groupBy(this.all, ({ pool }) => pool);
  }

  byId(accountId: string): Account | undefined {
    return this.#byId.get(accountId);
  }

  /** The accounts of a pool, in the order of the configuration. */
  ofPool(pool: string): readonly Account[] {
    return this.#byPool.get(pool) ?? [];
  }
}
