import type { AccountConfig, GatewayConfig, PoolConfig, PoolSettings } from '@gateway/config';
import type { Clock } from '@gateway/time';
import { Accounts, accountIdOf, neededAt, type Removed } from '../accounts/account.ts';
import { Catalog } from '../catalog/catalog.ts';
import { withoutRefusals } from '../health/account-health.ts';
import { RetryBudget, type RetryBudgetRules } from '../selection/acquire-lease.ts';
import type { PoolStore } from '../store/pool-store.ts';
import { type ConfigurationChange, changeBetween } from './configuration-change.ts';

/** What is configured now. It is replaced as a whole; requests that run keep the lease they have. */
export class ActiveConfiguration {
  readonly catalog: Catalog;
  gateway: GatewayConfig;
  settings: PoolSettings;
  accounts: Accounts;
  retryBudget: RetryBudget;
  readonly #store: PoolStore;
  readonly #clock: Clock;
  #removedAccounts: readonly Removed<AccountConfig>[] = [];
  #removedPools: readonly Removed<PoolConfig>[] = [];
  /** When accounts were given the credential that they have, where that was not at the start. */
  readonly #credentialsSinceMs = new Map<string, number>();

  constructor(gateway: GatewayConfig, store: PoolStore, clock: Clock) {
    this.gateway = gateway;
    this.settings = gateway.settings;
    this.#store = store;
    this.#clock = clock;
    this.catalog = new Catalog(gateway, store, clock);
    this.accounts = new Accounts(gateway.accounts, [], clock);
    this.retryBudget = new RetryBudget(rulesOf(gateway), clock);
  }

  /** When an account was given the credential that is configured. -Infinity: it has had it since the start. */
  credentialSinceMs(accountId: string): number {
    return this.#credentialsSinceMs.get(accountId) ?? Number.NEGATIVE_INFINITY;
  }

  /** Goes over to another configuration, at once. Resolves when what was refused before is forgotten. */
  async use(next: GatewayConfig, onApplied?: (change: ConfigurationChange) => void): Promise<void> {
    const change = this.replace(next);
    onApplied?.(change);
    // What a provider refused was not the credential of now, which is tried at once. A replica that did not know it yet may have
    // been refused with an account that is new here.
    const ids = [...change.accounts.added, ...change.newCredentials];
    const forgotten = ids.map((accountId) => this.#store.changeHealth(accountId, withoutRefusals));
    // With a store that is away the pauses run to their end.
    await Promise.allSettled(forgotten);
  }

  /** Goes over to other accounts of the same pools, if there are others. */
  async useAccounts(next: GatewayConfig): Promise<void> {
    const { added, removed, changed } = changeBetween(this.gateway, next).accounts;
    if ([...added, ...removed, ...changed].length > 0) await this.use(next);
  }

  /** What is removed is known for as long as leases of it may be out. */
  replace(next: GatewayConfig): ConfigurationChange {
    const before = this.gateway;
    const change = changeBetween(before, next);
    const nowMs = this.#clock.nowMs();
    const removed = <T>(
      earlier: readonly Removed<T>[],
      leaving: readonly T[],
      kept: readonly T[],
      keyOf: (value: T) => string,
    ) => {
      const keys = new Set(kept.map(keyOf));
      const now = leaving.map((value) => ({ value, untilMs: nowMs + before.settings.leaseTtlMs }));
      return [...neededAt(earlier, nowMs), ...now].filter(({ value }) => !keys.has(keyOf(value)));
    };
    const usable = before.accounts.filter(({ state }) => state !== 'disabled');
    this.#removedAccounts = removed(this.#removedAccounts, usable, next.accounts, accountIdOf);
    this.#removedPools = removed(this.#removedPools, before.pools, next.pools, ({ name }) => name);
    for (const id of [...change.accounts.added, ...change.newCredentials]) this.#credentialsSinceMs.set(id, nowMs);
    this.gateway = next;
    this.settings = next.settings;
    this.accounts = new Accounts(next.accounts, this.#removedAccounts, this.#clock);
    if (JSON.stringify(rulesOf(before)) !== JSON.stringify(rulesOf(next))) {
      this.retryBudget = new RetryBudget(rulesOf(next), this.#clock);
    }
    this.catalog.configure(next, this.#removedPools);
    return change;
  }
}

function rulesOf({ settings }: GatewayConfig): RetryBudgetRules {
  return { share: settings.retryBudgetShare, floorPerSecond: settings.retryBudgetFloorPerSecond };
}
