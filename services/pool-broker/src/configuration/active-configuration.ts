import type { AccountConfig, GatewayConfig, PoolConfig, PoolSettings } from '@gateway/config';
import type { Clock } from '@gateway/time';
import type { AccountRoster } from '../accounts/account-roster.ts';
import { Catalog } from '../catalog/catalog.ts';
import { RetryBudget, type RetryBudgetRules } from '../selection/retry-budget.ts';
import type { PoolStore } from '../store/pool-store.ts';
import { neededAt, type Removed, removedBy } from './removed.ts';
import { accountIdOf, RosterWithRemoved } from './roster-with-removed.ts';

/** What is configured now. It is replaced as a whole; requests that run keep the lease they have. */
export class ActiveConfiguration {
  readonly catalog: Catalog;
  readonly #clock: Clock;
  #gateway: GatewayConfig;
  #removedAccounts: readonly Removed<AccountConfig>[] = [];
  #removedPools: readonly Removed<PoolConfig>[] = [];
  /** When accounts were given the credential that they have, where that was not at the start. */
  #credentialsSinceMs: ReadonlyMap<string, number> = new Map();
  #roster: AccountRoster;
  #retryBudget: RetryBudget;

  constructor(gateway: GatewayConfig, store: PoolStore, clock: Clock) {
    this.#gateway = gateway;
    this.#clock = clock;
    this.catalog = new Catalog(gateway, store, clock);
    this.#roster = new RosterWithRemoved(gateway.accounts, []);
    this.#retryBudget = new RetryBudget(rulesOf(gateway), clock);
  }

  get gateway(): GatewayConfig {
    return this.#gateway;
  }

  get settings(): PoolSettings {
    return this.#gateway.settings;
  }

  get retryBudget(): RetryBudget {
    return this.#retryBudget;
  }

  get roster(): AccountRoster {
    // Asked for several times a request, and hardly ever was an account removed of late.
    if (this.#removedAccounts.length === 0) return this.#roster;
    const needed = neededAt(this.#removedAccounts, this.#clock.nowMs());
    if (needed.length < this.#removedAccounts.length) this.#setRoster(needed);
    return this.#roster;
  }

  /** When an account was given the credential that is configured. -Infinity: it has had it since the start. */
  credentialSinceMs(accountId: string): number {
    return this.#credentialsSinceMs.get(accountId) ?? Number.NEGATIVE_INFINITY;
  }

  /** Goes over to another configuration. What is removed is known for as long as leases of it may be out. */
  replace(next: GatewayConfig): void {
    const before = this.#gateway;
    const nowMs = this.#clock.nowMs();
    const times = { nowMs, untilMs: nowMs + before.settings.leaseTtlMs };
    const usable = before.accounts.filter(({ state }) => state !== 'disabled');
    const accounts = { before: usable, after: next.accounts, keyOf: accountIdOf, ...times };
    const pools = { before: before.pools, after: next.pools, keyOf: ({ name }: PoolConfig) => name, ...times };
    const roster = this.#roster;
    this.#gateway = next;
    this.#setRoster(removedBy(this.#removedAccounts, accounts));
    this.#noteCredentials(roster, nowMs);
    this.#removedPools = removedBy(this.#removedPools, pools);
    if (!sameRules(rulesOf(before), rulesOf(next))) this.#retryBudget = new RetryBudget(rulesOf(next), this.#clock);
    this.catalog.configure(next, this.#removedPools);
  }

  #noteCredentials(before: AccountRoster, nowMs: number): void {
    const since = this.#roster.all.map(({ id, credentialId }) => {
      const isKept = before.byId(id)?.credentialId === credentialId;
      return [id, isKept ? this.credentialSinceMs(id) : nowMs] as const;
    });
    this.#credentialsSinceMs = new Map(since);
  }

  #setRoster(removed: readonly Removed<AccountConfig>[]): void {
    this.#removedAccounts = removed;
    this.#roster = new RosterWithRemoved(
      this.#gateway.accounts,
      removed.map(({ value }) => value),
    );
  }
}

function rulesOf({ settings }: GatewayConfig): RetryBudgetRules {
  return { share: settings.retryBudgetShare, floorPerSecond: settings.retryBudgetFloorPerSecond };
}

function sameRules(one: RetryBudgetRules, other: RetryBudgetRules): boolean {
  return one.share === other.share && one.floorPerSecond === other.floorPerSecond;
}
