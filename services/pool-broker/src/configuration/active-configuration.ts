import { type AccountConfig, ConfigError, type GatewayConfig, type PoolSettings } from '@gateway/config';
import { type Account, Accounts, accountIdOf, credentialIdOf, noneRemoved, type Removed } from '../accounts/account.ts';
import { Catalog } from '../catalog/catalog.ts';
import { withoutFailures, withoutRefusals } from '../health/account-health.ts';
import type { PoolStore } from '../store/pool-store.ts';

/** The current configuration. It is replaced as a whole; running requests keep their lease. */
export class ActiveConfiguration {
  readonly catalog: Catalog;
  gateway: GatewayConfig;
  accounts: Accounts;
  readonly #store: PoolStore;
  readonly #removedAccounts: Removed<Account>;
  /** When accounts got their current credential or address, if they got it after the start. */
  readonly #credentialsSinceMs = new Map<string, number>();

  constructor(gateway: GatewayConfig, store: PoolStore) {
    this.gateway = gateway;
    this.#store = store;
    this.#removedAccounts = noneRemoved(() => store.nowMs());
    this.catalog = new Catalog(gateway, store);
    this.accounts = new Accounts(gateway.accounts, this.#removedAccounts);
  }

  get settings(): PoolSettings {
    return this.gateway.settings;
  }

  /**
   * When an account got its configured credential, or its pool another address. -Infinity: it has
   * had both since the start.
   */
  credentialSinceMs(accountId: string): number {
    return this.#credentialsSinceMs.get(accountId) ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Switches to another configuration immediately. Resolves when earlier refusals and failures are
   * forgotten.
   */
  async use(next: GatewayConfig, onApplied?: (change: ConfigurationChange) => void): Promise<void> {
    const change = this.replace(next);
    onApplied?.(change);
    // Earlier refusals concerned another credential, so the new one is tried at once. Accounts that
    // are new here are included, because a replica with an older credential may have been refused.
    const ids = [...change.accounts.added, ...change.newCredentials];
    const refused = ids.map((accountId) => this.#store.changeHealth(accountId, withoutRefusals));
    // Earlier failures concerned another server.
    const failed = change.newAddresses.map((accountId) => this.#store.changeHealth(accountId, withoutFailures));
    // If the store is away, the pauses run to their end.
    await Promise.allSettled([...refused, ...failed]);
  }

  /** Switches to other accounts of the same pools, if they differ. */
  async useAccounts(next: GatewayConfig): Promise<void> {
    const { added, removed, changed } = changeBetween(this.gateway, next).accounts;
    if ([...added, ...removed, ...changed].length > 0) await this.use(next);
  }

  replace(next: GatewayConfig): ConfigurationChange {
    const before = this.gateway;
    const change = changeBetween(before, next);
    // A lease stays valid, with the settings under which it was taken.
    const remembered = { ttl: before.settings.leaseTtlMs - 1 };
    for (const [id, account] of this.accounts.configured) {
      if (account.state !== 'disabled') this.#removedAccounts.set(id, { ...account, state: 'draining' }, remembered);
    }
    for (const account of next.accounts) this.#removedAccounts.delete(accountIdOf(account));
    for (const id of [...change.accounts.added, ...change.newCredentials, ...change.newAddresses]) {
      this.#credentialsSinceMs.set(id, this.#store.nowMs());
    }
    this.gateway = next;
    this.accounts = new Accounts(next.accounts, this.#removedAccounts);
    this.catalog.configure(next);
    return change;
  }
}

export interface ConfigurationChange {
  readonly pools: Difference;
  readonly accounts: Difference;
  readonly classes: Difference;
  /** Ids of accounts whose credential changed. */
  readonly newCredentials: readonly string[];
  /** Ids of accounts whose pool has another `base_url`. */
  readonly newAddresses: readonly string[];
}

/** Accounts by id, pools by name. */
interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

export function changeBetween(before: GatewayConfig, after: GatewayConfig): ConfigurationChange {
  const credentialOf = ({ credential }: AccountConfig) => credentialIdOf(credential);
  const accounts = [before.accounts, after.accounts] as const;
  const moved = difference(
    before.pools,
    after.pools,
    ({ name }) => name,
    ({ baseUrl }) => baseUrl,
  ).changed;
  return {
    pools: difference(before.pools, after.pools, ({ name }) => name, JSON.stringify),
    accounts: difference(...accounts, accountIdOf, (account) => JSON.stringify([account, credentialOf(account)])),
    classes: difference(before.classes, after.classes, ({ id }) => id, JSON.stringify),
    newCredentials: difference(...accounts, accountIdOf, credentialOf).changed,
    newAddresses: after.accounts.filter(({ pool }) => moved.includes(pool)).map(accountIdOf),
  };
}

/**
 * @throws ConfigError that says why a configuration can't replace another while the gateway runs.
 */
export function checkChange(before: Pick<GatewayConfig, 'pools'>, after: NextConfiguration): void {
  const formats = new Map(before.pools.map(({ name, format }) => [name, format]));
  const otherFormat = after.pools.filter(({ name, format }) => formats.has(name) && formats.get(name) !== format);
  const problems = otherFormat.map(
    ({ name }) =>
      `pools.${name}.format: cannot change while the gateway runs. Give the pool another name, or restart the gateway`,
  );
  if (after.accounts.length === 0) problems.push('accounts: no account is configured, so no request could be served');
  if (problems.length > 0) throw new ConfigError(problems);
}

interface NextConfiguration {
  readonly pools: readonly { readonly name: string; readonly format: string }[];
  readonly accounts: readonly unknown[];
}

function difference<T>(
  before: readonly T[],
  after: readonly T[],
  keyOf: (value: T) => string,
  textOf: (value: T) => string,
): Difference {
  const old = new Map(before.map((value) => [keyOf(value), textOf(value)]));
  const now = new Map(after.map((value) => [keyOf(value), textOf(value)]));
  return {
    added: [...now.keys()].filter((key) => !old.has(key)),
    removed: [...old.keys()].filter((key) => !now.has(key)),
    changed: [...now.keys()].filter((key) => old.has(key) && old.get(key) !== now.get(key)),
  };
}
