import type { Clock } from '@gateway/time';
import type { AccountHealth } from '../health/account-health.ts';
import type { PoolHealth } from '../health/pool-health.ts';
import { newLeaseId } from './lease-id.ts';
import type { ParsedTexts } from './parsed-texts.ts';
import { type LeaseRenewal, type LeaseSettlement, type NewLease, settledMemoryMs } from './pool-store.ts';
import type { RedisKeys } from './redis-keys.ts';
import type { RedisVerbs } from './redis-verbs.ts';
import { type EndedRequest, maxCallers } from './request-book.ts';
import type { SeenPool } from './seen-pools.ts';

export interface RedisLeasesParts {
  readonly verbs: RedisVerbs;
  readonly keys: RedisKeys;
  readonly clock: Clock;
  readonly healths: ParsedTexts<AccountHealth>;
  readonly poolHealths: ParsedTexts<PoolHealth>;
}

/** The leases of all replicas: sorted sets of their ids by when they were taken or renewed last, or settled. */
export class RedisLeases {
  readonly #parts: RedisLeasesParts;

  constructor(parts: RedisLeasesParts) {
    this.#parts = parts;
  }

  /** @see PoolStore.takeLease */
  async take(lease: NewLease): Promise<string | undefined> {
    const { verbs, keys, clock } = this.#parts;
    const { accountId, caller, maxConcurrency, leaseTtlMs, leaseId = newLeaseId(caller) } = lease;
    const parameters = [leaseId, clock.nowMs(), leaseTtlMs, capOf(maxConcurrency)];
    const sets = [keys.account(accountId).leases, ...keys.requestSets(lease)];
    return (await verbs.run('take_lease', sets, parameters)) === 1 ? leaseId : undefined;
  }

  /** @see PoolGlance.take */
  async takeAsSeen(lease: NewLease, callerMemoryMs: number, seen: SeenSession): Promise<string | undefined> {
    const { verbs, clock } = this.#parts;
    const { accountId, caller, maxConcurrency, leaseTtlMs, leaseId = newLeaseId(caller) } = lease;
    const account = seen.accounts.find((each) => each.accountId === accountId);
    if (account === undefined) return undefined;
    const binding = seen.affinityId === undefined ? false : (seen.boundAccountId ?? '');
    const parameters = [
      ...[leaseId, clock.nowMs(), leaseTtlMs, capOf(maxConcurrency)],
      ...[account.digest, seen.pool.digest, binding, caller === '' ? false : caller, callerMemoryMs, maxCallers],
    ];
    // Those who choose before Redis answers see it as well.
    account.inFlight += 1;
    if ((await verbs.run('take_as_seen', this.#keysToTakeAsSeen(lease, seen), parameters)) === 1) return leaseId;
    account.inFlight -= 1;
    return undefined;
  }

  #keysToTakeAsSeen(lease: NewLease, { affinityId }: SeenSession): readonly string[] {
    const { keys } = this.#parts;
    const account = keys.account(lease.accountId);
    const pool = keys.pool(lease.pool);
    // Without a session no binding is looked at.
    const binding = affinityId === undefined ? account.health : keys.binding(affinityId);
    return [account.health, pool.health, binding, pool.callers, account.leases, ...keys.requestSets(lease)];
  }

  /** @see PoolStore.renewLease */
  async renew({ accountId, pool, caller, leaseId, leaseTtlMs }: LeaseRenewal): Promise<void> {
    const { verbs, keys, clock } = this.#parts;
    const { leases, settled } = keys.account(accountId);
    const counting = caller === '' ? [leases] : [leases, keys.pool(pool).caller(caller)];
    await verbs.run('renew_lease', [settled, ...counting], [leaseId, clock.nowMs(), leaseTtlMs]);
  }

  /** @see PoolStore.settleLease */
  async settle(accountId: string, request: EndedRequest): Promise<LeaseSettlement> {
    const { verbs, keys, clock, healths, poolHealths } = this.#parts;
    const { leases, settled, health } = keys.account(accountId);
    const poolHealth = keys.pool(request.pool).health;
    const concerned = [leases, settled, health, poolHealth, ...keys.requestSets(request)];
    const parameters = [request.leaseId, clock.nowMs(), settledMemoryMs];
    const [leasedAt, healthText, poolText] = readTexts(await verbs.run('settle_lease', concerned, parameters));
    if (leasedAt === undefined) return { kind: 'settled_before' };
    return {
      kind: 'settled',
      leasedAtMs: leasedAt === '' ? undefined : Number(leasedAt),
      health: healths.read(health, healthText ?? null),
      poolHealth: poolHealths.read(poolHealth, poolText ?? null),
    };
  }
}

/** A pool as it was seen, by a request of a session; undefined: of none. */
export interface SeenSession extends SeenPool {
  readonly affinityId: string | undefined;
}

function capOf(maxConcurrency: number): number {
  return Number.isFinite(maxConcurrency) ? maxConcurrency : -1;
}

function readTexts(reply: unknown): readonly string[] {
  if (Array.isArray(reply) && reply.every((value) => typeof value === 'string')) return reply;
  throw new Error('a script answered something else than texts');
}
