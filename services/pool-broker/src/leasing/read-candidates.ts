import type { Account } from '../accounts/account.ts';
import type { Broker } from '../broker.ts';
import type { Candidate } from '../catalog/resolve-model.ts';
import { healthy } from '../health/account-health.ts';
import { asInService } from '../health/out-of-service.ts';
import { untroubled } from '../health/pool-health.ts';
import type { CallerShare } from '../selection/fair-share.ts';
import type { AccountView } from '../selection/fitness.ts';
import type { CandidateView } from '../selection/select-account.ts';
import { affinityIdOf } from './affinity-id.ts';

/** Who asks, as far as it decides what they may have. Empty texts: no session, nobody's share is counted. */
export interface Asking {
  readonly affinityKey: string;
  /** See `toCallerId`. */
  readonly caller: string;
}

/** The candidates with what is known now of their pools and accounts, of the session's bindings and of the caller's share. */
export async function readCandidates(
  broker: Broker,
  candidates: readonly Candidate[],
  { affinityKey, caller }: Asking,
): Promise<readonly CandidateView[]> {
  const pools = poolsOf(candidates);
  const [views, poolHealths, bindings, shares] = await Promise.all([
    readAccounts(
      broker,
      pools.flatMap((pool) => broker.roster.ofPool(pool)),
    ),
    broker.store.readPools(pools),
    affinityKey === '' ? noBindings : readBindings(broker, pools, affinityKey),
    caller === '' ? noShares : readShares(broker, pools, caller),
  ]);
  const viewsByPool = pools.length === 1 ? undefined : Map.groupBy(views, ({ account }) => account.pool);
  return candidates.map((candidate) => ({
    candidate,
    accounts: viewsByPool === undefined ? views : (viewsByPool.get(candidate.pool.name) ?? []),
    poolHealth: poolHealths.get(candidate.pool.name) ?? untroubled,
    boundAccountId: bindings.get(candidate.pool.name),
    callerShare: shares.get(candidate.pool.name),
  }));
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
export async function readAccounts(broker: Broker, accounts: readonly Account[]): Promise<readonly AccountView[]> {
  const records = await broker.store.readAccounts(
    accounts.map(({ id }) => id),
    broker.settings.leaseTtlMs,
  );
  const nowMs = broker.clock.nowMs();
  return accounts.map((account) => {
    const { health, inFlight } = records.get(account.id) ?? { health: healthy, inFlight: 0 };
    return { account: asInService(account, health, nowMs), health, inFlight };
  });
}

async function readBindings(
  { store }: Broker,
  pools: readonly string[],
  affinityKey: string,
): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    pools.map(async (pool) => [pool, await store.boundAccount(affinityIdOf(pool, affinityKey))] as const),
  );
  return new Map(found.flatMap(([pool, accountId]) => (accountId === undefined ? [] : [[pool, accountId]])));
}

async function readShares(
  { store, settings }: Broker,
  pools: readonly string[],
  caller: string,
): Promise<ReadonlyMap<string, CallerShare>> {
  const { leaseTtlMs, callerMemoryMs } = settings;
  const found = pools.map(
    async (pool) => [pool, await store.shareOf({ pool, caller, leaseTtlMs, callerMemoryMs })] as const,
  );
  return new Map(await Promise.all(found));
}
