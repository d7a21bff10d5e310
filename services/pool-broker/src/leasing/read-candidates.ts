import type { Account } from '../accounts/account.ts';
import type { Broker } from '../broker.ts';
import type { Candidate } from '../catalog/resolve-model.ts';
import { healthy } from '../health/account-health.ts';
import { asInService } from '../health/out-of-service.ts';
import { type PoolHealth, untroubled } from '../health/pool-health.ts';
import type { CallerShare } from '../selection/fair-share.ts';
import type { AccountView } from '../selection/fitness.ts';
import type { CandidateView } from '../selection/select-account.ts';
import { type Awaitable, allThere, whenThere } from '../store/awaitable.ts';
import { affinityIdOf } from './affinity-id.ts';

/** Who asks, as far as it decides what they may have. Empty texts: no session, nobody's share is counted. */
export interface Asking {
  readonly affinityKey: string;
  /** See `toCallerId`. */
  readonly caller: string;
}

/** The candidates with what is known now of their pools and accounts, of the session's bindings and of the caller's share. */
export function readCandidates(
  broker: Broker,
  candidates: readonly Candidate[],
  { affinityKey, caller }: Asking,
): Awaitable<readonly CandidateView[]> {
  const pools = poolsOf(candidates);
  const accounts = readAccounts(broker, accountsOf(broker, pools));
  const poolHealths = broker.store.readPools(pools);
  const bindings = affinityKey === '' ? noBindings : readBindings(broker, pools, affinityKey);
  const shares = caller === '' ? noShares : readShares(broker, pools, caller);
  if (
    accounts instanceof Promise ||
    poolHealths instanceof Promise ||
    bindings instanceof Promise ||
    shares instanceof Promise
  ) {
    return Promise.all([accounts, poolHealths, bindings, shares]).then(([views, healths, bound, shared]) =>
      viewsOf(candidates, { pools, views, poolHealths: healths, bindings: bound, shares: shared }),
    );
  }
  return viewsOf(candidates, { pools, views: accounts, poolHealths, bindings, shares });
}

/** What was read for candidates, by the names of their pools. */
interface ReadState {
  readonly pools: readonly string[];
  readonly views: readonly AccountView[];
  readonly poolHealths: ReadonlyMap<string, PoolHealth>;
  readonly bindings: ReadonlyMap<string, string>;
  readonly shares: ReadonlyMap<string, CallerShare>;
}

function viewsOf(candidates: readonly Candidate[], state: ReadState): readonly CandidateView[] {
  const { pools, views, poolHealths, bindings, shares } = state;
  const viewsByPool = pools.length === 1 ? undefined : Map.groupBy(views, ({ account }) => account.pool);
  return candidates.map((candidate) => ({
    candidate,
    accounts: viewsByPool === undefined ? views : (viewsByPool.get(candidate.pool.name) ?? []),
    poolHealth: poolHealths.get(candidate.pool.name) ?? untroubled,
    boundAccountId: bindings.get(candidate.pool.name),
    callerShare: shares.get(candidate.pool.name),
  }));
}

function accountsOf({ roster }: Broker, pools: readonly string[]): readonly Account[] {
  const [first, ...others] = pools;
  if (first !== undefined && others.length === 0) return roster.ofPool(first);
  return pools.flatMap((pool) => roster.ofPool(pool));
}

const noBindings: ReadonlyMap<string, string> = new Map();
const noShares: ReadonlyMap<string, CallerShare> = new Map();

/** Each pool once. */
function poolsOf(candidates: readonly Candidate[]): readonly string[] {
  const [first, ...others] = candidates;
  if (first !== undefined && others.length === 0) return [first.pool.name];
  return [...new Set(candidates.map(({ pool }) => pool.name))];
}

/** Accounts with their health and requests under way. */
export function readAccounts(broker: Broker, accounts: readonly Account[]): Awaitable<readonly AccountView[]> {
  const { store, settings, clock } = broker;
  const ids = accounts.map(({ id }) => id);
  return whenThere(store.readAccounts(ids, settings.leaseTtlMs), (records) => {
    const nowMs = clock.nowMs();
    return accounts.map((account) => {
      const { health, inFlight } = records.get(account.id) ?? { health: healthy, inFlight: 0 };
      return { account: asInService(account, health, nowMs), health, inFlight };
    });
  });
}

function readBindings(
  { store }: Broker,
  pools: readonly string[],
  affinityKey: string,
): Awaitable<ReadonlyMap<string, string>> {
  const found = pools.map((pool) => store.boundAccount(affinityIdOf(pool, affinityKey)));
  return whenThere(allThere(found), (accountIds) => {
    const bound = new Map<string, string>();
    pools.forEach((pool, at) => {
      const accountId = accountIds[at];
      if (accountId !== undefined) bound.set(pool, accountId);
    });
    return bound;
  });
}

function readShares(
  { store, settings }: Broker,
  pools: readonly string[],
  caller: string,
): Awaitable<ReadonlyMap<string, CallerShare>> {
  const { leaseTtlMs, callerMemoryMs } = settings;
  const found = pools.map((pool) =>
    whenThere(store.shareOf({ pool, caller, leaseTtlMs, callerMemoryMs }), (share) => [pool, share] as const),
  );
  return whenThere(allThere(found), (shares) => new Map(shares));
}
