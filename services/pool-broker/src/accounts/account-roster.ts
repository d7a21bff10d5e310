import type { AccountConfig } from '@gateway/config';
import { type Account, toAccount } from './account.ts';

/** Every configured account, by id and by pool. */
export class AccountRoster {
  readonly all: readonly Account[];
  readonly #byId: ReadonlyMap<string, Account>;
  readonly #byPool: ReadonlyMap<string, PoolAccounts>;

  /** `offered`: which of all the accounts of a pool are its accounts for those who ask. Default: all. */
  constructor(accounts: readonly AccountConfig[], offered = (all: readonly Account[]) => all) {
    this.all = accounts.map(toAccount);
    this.#byId = new Map(this.all.map((account) => [account.id, account]));
    const byPool = Map.groupBy(this.all, ({ pool }) => pool);
    this.#byPool = new Map([...byPool].map(([pool, all]) => [pool, toPoolAccounts(offered(all))]));
  }

  byId(accountId: string): Account | undefined {
    return this.#byId.get(accountId);
  }

  /** The accounts of a pool, in the order of the configuration. */
  ofPool(pool: string): readonly Account[] {
    return (this.#byPool.get(pool) ?? noAccounts).accounts;
  }

  /** The ids of these, in the same order. One list for all who ask, as long as nothing is configured anew. */
  idsOfPool(pool: string): readonly string[] {
    return (this.#byPool.get(pool) ?? noAccounts).ids;
  }
}

interface PoolAccounts {
  readonly accounts: readonly Account[];
  readonly ids: readonly string[];
}

const noAccounts: PoolAccounts = { accounts: [], ids: [] };

function toPoolAccounts(accounts: readonly Account[]): PoolAccounts {
  return { accounts, ids: accounts.map(({ id }) => id) };
}
