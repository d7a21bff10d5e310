import type { Account } from '../accounts/account.ts';
import type { Broker } from '../broker.ts';
import type { Candidate } from '../catalog/catalog.ts';
import { healthy } from '../health/account-health.ts';
import { asInService } from '../health/availability.ts';
import type { PoolHealth } from '../health/pool-health.ts';
import type { CallerShare } from '../selection/fair-share.ts';
import type { AccountView } from '../selection/fitness.ts';
import type { CandidateView } from '../selection/select-account.ts';
import { type Awaitable, allThere, isThere, whenThere } from '../store/awaitable.ts';
import type { AccountRecord } from '../store/pool-store.ts';
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
  asking: Asking,
): Awaitable<readonly CandidateView[]> {
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1) {
    return whenThere(readPool(broker, only.pool.name, asking), (pool) => [{ candidate: only, ...pool }]);
  }
  const names = [...new Set(candidates.map(({ pool }) => pool.name))];
  return whenThere(allThere(names.map((name) => readPool(broker, name, asking))), (pools) =>
    candidates.flatMap((candidate) => {
      const pool = pools[names.indexOf(candidate.pool.name)];
      return pool === undefined ? [] : [{ candidate, ...pool }];
    }),
  );
}

type PoolView = Omit<CandidateView, 'candidate'>;

function readPool(broker: Broker, pool: string, { affinityKey, caller }: Asking): Awaitable<PoolView> {
  const { store, settings, roster } = broker;
  const { leaseTtlMs, callerMemoryMs } = settings;
  const accounts = roster.ofPool(pool);
  const records = store.readAccounts(
    roster.ofPool(pool).map(({ id }) => id),
    leaseTtlMs,
  );
  const poolHealth = store.readPool(pool);
  const bound = affinityKey === '' ? undefined : store.boundAccount(affinityIdOf(pool, affinityKey));
  const share = caller === '' ? undefined : store.shareOf({ pool, caller, leaseTtlMs, callerMemoryMs });
  if (isThere(records) && isThere(poolHealth) && isThere(bound) && isThere(share)) {
    return poolView(viewsOf(broker, accounts, records), poolHealth, bound, share);
  }
  return Promise.all([records, poolHealth, bound, share]).then(([read, health, boundAccountId, callerShare]) =>
    poolView(viewsOf(broker, accounts, read), health, boundAccountId, callerShare),
  );
}

function poolView(
  accounts: readonly AccountView[],
  poolHealth: PoolHealth,
  boundAccountId: string | undefined,
  callerShare: CallerShare | undefined,
): PoolView {
  return { accounts, poolHealth, boundAccountId, callerShare };
}

/** Accounts with their health and requests under way. */
export function readAccounts(broker: Broker, accounts: readonly Account[]): Awaitable<readonly AccountView[]> {
  const records = broker.store.readAccounts(
    accounts.map(({ id }) => id),
    broker.settings.leaseTtlMs,
  );
  return whenThere(records, (read) => viewsOf(broker, accounts, read));
}

/** Accounts with what is recorded of them, in the same order. */
export function viewsOf(
  { clock }: Broker,
  accounts: readonly Account[],
  records: readonly AccountRecord[],
): readonly AccountView[] {
  const nowMs = clock.nowMs();
  return accounts.map((account, at) => {
    const { health, inFlight } = records[at] ?? unknown;
    return { account: asInService(account, health, nowMs), health, inFlight };
  });
}

const unknown: AccountRecord = { health: healthy, inFlight: 0 };
