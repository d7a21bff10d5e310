import type { Account } from '../accounts/account.ts';
import type { Broker } from '../broker.ts';
import type { Candidate } from '../catalog/resolve-model.ts';
import { healthy } from '../health/account-health.ts';
import type { AccountView } from '../selection/fitness.ts';
import type { CandidateView } from '../selection/select-account.ts';
import { affinityIdOf } from './affinity-id.ts';

/** The candidates with what is known of their accounts now, and of the session's bindings. */
export async function readCandidates(
  broker: Broker,
  candidates: readonly Candidate[],
  affinityKey: string,
): Promise<readonly CandidateView[]> {
  const pools = [...new Set(candidates.map(({ pool }) => pool.name))];
  const [views, bindings] = await Promise.all([
    readAccounts(
      broker,
      pools.flatMap((pool) => broker.roster.ofPool(pool)),
    ),
    affinityKey === '' ? new Map<string, string>() : readBindings(broker, pools, affinityKey),
  ]);
  const viewsByPool = Map.groupBy(views, ({ account }) => account.pool);
  return candidates.map((candidate) => ({
    candidate,
    accounts: viewsByPool.get(candidate.pool.name) ?? [],
    boundAccountId: bindings.get(candidate.pool.name),
  }));
}

/** Accounts with their health and requests under way. */
export async function readAccounts(broker: Broker, accounts: readonly Account[]): Promise<readonly AccountView[]> {
  const records = await broker.store.readAccounts(
    accounts.map(({ id }) => id),
    broker.settings.leaseTtlMs,
  );
  return accounts.map((account) => {
    const { health, inFlight } = records.get(account.id) ?? { health: healthy, inFlight: 0 };
    return { account, health, inFlight };
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
