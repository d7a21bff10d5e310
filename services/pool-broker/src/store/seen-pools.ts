import { hash } from 'node:crypto';
import type { Clock } from '@gateway/time';
import type { AccountHealth } from '../health/account-health.ts';
import type { PoolHealth } from '../health/pool-health.ts';
import type { GlanceQuestion } from './pool-glance.ts';
import type { AccountRecord } from './pool-store.ts';
import { RecentMap } from './recent-map.ts';

/** What a store last said of accounts, pools and sessions, and when. */
export class SeenPools {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, SeenAccount>();
  readonly #pools = new Map<string, Seen<PoolHealth>>();
  /** Sessions with the accounts that they are bound to; empty: none. */
  readonly #bindings: RecentMap<string>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#bindings = new RecentMap(clock, maxBindings);
  }

  /** Undefined: not of late. */
  of({ pool, accountIds, affinityId }: GlanceQuestion): SeenPool | undefined {
    const nowMs = this.#clock.nowMs();
    const seen = this.#pools.get(pool);
    if (seen === undefined) return undefined;
    let oldestMs = seen.atMs;
    const accounts: SeenAccount[] = [];
    for (const accountId of accountIds) {
      const account = this.#accounts.get(accountId);
      if (account === undefined) return undefined;
      oldestMs = Math.min(oldestMs, account.atMs);
      accounts.push(account);
    }
    if (oldestMs < nowMs - freshForMs) return undefined;
    // A session that was not seen is taken for a new one.
    const binding = affinityId === undefined ? '' : (this.#bindings.get(affinityId) ?? '');
    const boundAccountId = binding === '' ? undefined : binding;
    return { pool: seen, accounts, boundAccountId, isFading: oldestMs < nowMs - freshForMs / 2 };
  }

  noteAccount(accountId: string, text: string | null, { health, inFlight }: AccountRecord): void {
    const known = this.#accounts.get(accountId);
    const digest = known?.text === text ? known.digest : digestOf(text);
    bounded(this.#accounts).set(accountId, { accountId, health, text, digest, inFlight, atMs: this.#clock.nowMs() });
  }

  /** A request of an account ends: whoever chooses before the store is asked again finds its place free. */
  noteEnd(accountId: string): void {
    const account = this.#accounts.get(accountId);
    if (account !== undefined) account.inFlight = Math.max(0, account.inFlight - 1);
  }

  notePool(pool: string, text: string | null, health: PoolHealth): void {
    const known = this.#pools.get(pool);
    const digest = known?.text === text ? known.digest : digestOf(text);
    bounded(this.#pools).set(pool, { health, text, digest, atMs: this.#clock.nowMs() });
  }

  /** This process has changed the health of an account, or of a pool: it is to be looked at again. */
  noteChange(changed: { readonly accountId: string } | { readonly pool: string }): void {
    const seen = 'pool' in changed ? this.#pools.get(changed.pool) : this.#accounts.get(changed.accountId);
    if (seen !== undefined) seen.atMs = Math.min(seen.atMs, this.#clock.nowMs() - freshForMs / 2 - 1);
  }

  /** `accountId` undefined: the session is free. */
  noteBinding(affinityId: string, accountId: string | undefined): void {
    this.#bindings.set(affinityId, accountId ?? '', bindingForMs);
  }
}

export interface SeenPool {
  readonly pool: Seen<PoolHealth>;
  /** In the order asked. */
  readonly accounts: readonly SeenAccount[];
  readonly boundAccountId: string | undefined;
  /** It is more than half as old as it may be. */
  readonly isFading: boolean;
}

export interface SeenAccount extends Seen<AccountHealth> {
  readonly accountId: string;
  /** As the store said it, with what was taken and what ended since. */
  inFlight: number;
}

interface Seen<T> {
  readonly health: T;
  readonly text: string | null;
  /** Tells the text from every other. Empty: there is none. */
  readonly digest: string;
  atMs: number;
}

function digestOf(text: string | null): string {
  return text === null ? '' : hash('sha1', text, 'hex');
}

/** Keys are those of configured accounts and pools; what was removed from the configuration must not add up. */
function bounded<T>(seen: Map<string, T>): Map<string, T> {
  if (seen.size >= maxSeen) seen.clear();
  return seen;
}

/** So long an account may be passed over that is back, or the least busy one by now. What is taken is checked in any case. */
const freshForMs = 100;
const bindingForMs = 600_000;
const maxBindings = 20_000;
const maxSeen = 10_000;
