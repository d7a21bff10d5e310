import type { AccountConfig, GatewayConfig, PoolConfig, PoolSettings } from '@gateway/config';
import type { Clock } from '@gateway/time';
import { AccountRoster, accountIdOf, neededAt, type Removed } from '../accounts/account.ts';
import { Catalog } from '../catalog/catalog.ts';
import { RetryBudget, type RetryBudgetRules } from '../selection/retry-budget.ts';
import type { PoolStore } from '../store/pool-store.ts';

/** What is configured now. It is replaced as a whole; requests that run keep the lease they have. */
export class ActiveConfiguration {
  readonly catalog: Catalog;
  gateway: GatewayConfig;
  roster: AccountRoster;
  retryBudget: RetryBudget;
  readonly #clock: Clock;
  #removedAccounts: readonly Removed<AccountConfig>[] = [];
  #removedPools: readonly Removed<PoolConfig>[] = [];
  /** When accounts were given the credential that they have, where that was not at the start. */
  #credentialsSinceMs: ReadonlyMap<string, number> = new Map();

  constructor(gateway: GatewayConfig, store: PoolStore, clock: Clock) {
    this.gateway = gateway;
    this.#clock = clock;
    this.catalog = new Catalog(gateway, store, clock);
    this.roster = new AccountRoster(gateway.accounts, [], clock);
    this.retryBudget = new RetryBudget(rulesOf(gateway), clock);
  }

  get settings(): PoolSettings {
    return this.gateway.settings;
  }

  /** When an account was given the credential that is configured. -Infinity: it has had it since the start. */
  credentialSinceMs(accountId: string): number {
    return this.#credentialsSinceMs.get(accountId) ?? Number.NEGATIVE_INFINITY;
  }

  /** Goes over to another configuration. What is removed is known for as long as leases of it may be out. */
  replace(next: GatewayConfig): void {
    const { gateway: before, roster } = this;
    const nowMs = this.#clock.nowMs();
    const times = { nowMs, untilMs: nowMs + before.settings.leaseTtlMs };
    const usable = before.accounts.filter(({ state }) => state !== 'disabled');
    const accounts = { before: usable, after: next.accounts, keyOf: accountIdOf, ...times };
    const pools = { before: before.pools, after: next.pools, keyOf: ({ name }: PoolConfig) => name, ...times };
    this.gateway = next;
    this.#removedAccounts = removedBy(this.#removedAccounts, accounts);
    this.#removedPools = removedBy(this.#removedPools, pools);
    this.roster = new AccountRoster(next.accounts, this.#removedAccounts, this.#clock);
    this.#noteCredentials(roster, nowMs);
    if (JSON.stringify(rulesOf(before)) !== JSON.stringify(rulesOf(next)))
      this.retryBudget = new RetryBudget(rulesOf(next), this.#clock);
    this.catalog.configure(next, this.#removedPools);
  }

  #noteCredentials(before: AccountRoster, nowMs: number): void {
    const since = this.roster.all.map(({ id, credentialId }) => {
      const isKept = before.byId(id)?.credentialId === credentialId;
      return [id, isKept ? this.credentialSinceMs(id) : nowMs] as const;
    });
    this.#credentialsSinceMs = new Map(since);
  }
}

function rulesOf({ settings }: GatewayConfig): RetryBudgetRules {
  return { share: settings.retryBudgetShare, floorPerSecond: settings.retryBudgetFloorPerSecond };
}

interface Removal<T> {
  readonly before: readonly T[];
  readonly after: readonly T[];
  readonly keyOf: (value: T) => string;
  readonly nowMs: number;
  readonly untilMs: number;
}

/** What is taken out by a change, besides what was taken out earlier, is still needed and has not come back. */
function removedBy<T>(
  earlier: readonly Removed<T>[],
  { before, after, keyOf, nowMs, untilMs }: Removal<T>,
): readonly Removed<T>[] {
  const kept = new Set(after.map(keyOf));
  const leaving = before.map((value) => ({ value, untilMs }));
  return [...neededAt(earlier, nowMs), ...leaving].filter(({ value }) => !kept.has(keyOf(value)));
}
