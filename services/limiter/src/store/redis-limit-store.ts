import {
  type Check,
  type CounterName,
  chargesOf,
  type Decision,
  dayForgottenAtMs,
  decisionOf,
  type Heartbeat,
  heldMetersOf,
  type KnownTotal,
  LEASE_MS,
  type LedgerTotal,
  type LimitStore,
  maxPendingIds,
  metersOf,
  nameOf,
  type OwnAdmission,
  RESERVED_MS,
  type ReloadedCounter,
  type ReplicaPlace,
  type Reservation,
  refusalOf,
  replicaSilenceMs,
  reservedMetersOf,
  type SettledTotals,
  type Settlement,
  settledTotals,
  subjectsOf,
} from '@gateway/limits';
import type { Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import {
  connectTimeoutMs,
  onReconnected,
  openRedis,
  type RedisOperation,
  type RedisSettings,
  redisOperations,
  within,
} from '@gateway/redis';
import type { Logger, Metrics } from '@gateway/telemetry';
import { counterKeys, redisKeys } from './redis-keys.ts';
import { endedKey, leasesOf, RedisMeters } from './redis-meters.ts';
import { KeyList, RedisScript } from './redis-script.ts';

export interface RedisLimitStoreOptions {
  readonly settings: RedisSettings;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** For tests only: replaces Redis' clock in every script. */
  readonly redisNowMs?: (() => number) | undefined;
  /** For tests only. */
  readonly maxPendingIds?: number;
}

/**
 * Meters that all limiters share, by Redis' clock. Each operation on a key is one call of one
 * script. Every call is safe to repeat, and is repeated when its connection breaks.
 */
export class RedisLimitStore implements LimitStore, AsyncDisposable {
  readonly #options: RedisLimitStoreOptions;
  readonly #redis: ReturnType<typeof openRedis>;
  readonly #operation: RedisOperation;
  readonly #script: RedisScript;
  readonly #meters: RedisMeters;
  readonly #maxPendingIds: number;

  constructor(options: RedisLimitStoreOptions) {
    this.#options = options;
    this.#maxPendingIds = options.maxPendingIds ?? maxPendingIds;
    const onFault = (reason: string) => options.logger.warn({ reason }, 'connection to Redis failed');
    this.#redis = openRedis({ ...options, isRepeatable: true, onFault });
    this.#operation = redisOperations(options.metrics);
    const { redisNowMs } = options;
    this.#script = new RedisScript({ redis: this.#redis, operation: this.#operation, redisNowMs });
    this.#meters = new RedisMeters(this.#script, options.settings.place.kind === 'cluster');
  }

  /** Calls the listener when Redis may have lost its latest writes. */
  onReconnected(listener: () => void): void {
    onReconnected(this.#redis, listener);
  }

  /** Connects. Fails when Redis is not reachable; the connection is retried in the background. */
  async start(): Promise<void> {
    await this.#operation('connect', () => within(connectTimeoutMs, this.#redis.connect()));
    const memory = await this.#operation('info', () => this.#redis.info('memory')).catch(() => '');
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
    // An evicted key is a limit that is silently forgotten.
    if (policy !== undefined && policy !== 'noeviction') {
      const advice = 'Redis may evict limits when its memory is full; set maxmemory-policy noeviction';
      this.#options.logger.warn({ policy }, advice);
    }
  }

  async admit(check: Check): Promise<Decision> {
    const meters = metersOf(check);
    const taken = await this.#meters.take({ ...check, meters });
    return decisionOf(check, meters, taken);
  }

  async reserve(reservation: Reservation): Promise<Refusal | undefined> {
    const meters = reservedMetersOf(reservation);
    const { localDay } = reservation;
    if (meters.length === 0) return undefined;
    const taken = await this.#meters.takeOn(localDay, { ...reservation, meters });
    if (taken.isTaken) return undefined;
    await this.#giveBack(reservation);
    return refusalOf(meters, taken);
  }

  async renew(running: readonly Reservation[]): Promise<void> {
    await Promise.all(running.map((each) => this.#renewOne(each)));
  }

  async settle(settlement: Settlement): Promise<SettledTotals> {
    const { requestId, ended = false } = settlement;
    const subjects = subjectsOf(settlement);
    const keys = new KeyList();
    const charged = chargesOf(settlement);
    const charges = charged.map(({ counter: name, amount, hasLedger }) => {
      const { counter, pending, settled } = counterKeys(name);
      return {
        counter: keys.at(counter),
        pending: keys.at(pending),
        settled: keys.at(settled),
        amount,
        has_ledger: hasLedger,
        forgotten_at: dayForgottenAtMs(name.span.lastDay),
      };
    });
    const terms = { id: requestId, charges, most_pending: this.#maxPendingIds };
    const end = () => ({
      ...terms,
      ended: keys.at(endedKey(settlement)),
      leases: [
        ...subjects.map((subject) => keys.leasesAt(redisKeys(subject).leases, LEASE_MS)),
        ...charged.map(({ counter }) => keys.leasesAt(counterKeys(counter).leases, RESERVED_MS)),
      ],
    });
    const { totals } = await this.#script.run('settle', keys, ended ? end() : terms);
    return settledTotals(
      charged.map(({ counter, total }, index) => {
        const { used = 0, loaded = true } = totals[index] ?? {};
        return { counter, total, amount: used, isLoaded: loaded };
      }),
    );
  }

  async pendingIds(counter: CounterName, pauseMs: number): Promise<readonly string[] | undefined> {
    const { pending, reload, leases } = counterKeys(counter);
    const isPaused = async () => pauseMs > 0 && (await this.#redis.set(reload, '', 'PX', pauseMs, 'NX')) === null;
    const ids = async () => {
      const both = [this.#redis.hkeys(pending), this.#redis.zrange(leases.expiries, 0, `${maxPendingIds - 1}`)];
      return (await Promise.all(both)).flat().slice(0, maxPendingIds);
    };
    return this.#operation('pendingIds', async () => ((await isPaused()) ? undefined : ids()));
  }

  async reload(name: CounterName, total: LedgerTotal): Promise<ReloadedCounter> {
    const { totalTokens, includedIds, missingIds, force = false, isTentative = false } = total;
    const { counter, pending, settled, leases } = counterKeys(name);
    const keys = new KeyList();
    const { before, used, ...others } = await this.#script.run('reload', keys, {
      counter: keys.at(counter),
      pending: keys.at(pending),
      settled: keys.at(settled),
      leases: keys.leasesAt(leases, RESERVED_MS),
      total: totalTokens,
      included: includedIds,
      missing: missingIds,
      force,
      is_tentative: isTentative,
      most_pending: this.#maxPendingIds,
      forgotten_at: dayForgottenAtMs(name.span.lastDay),
    });
    return {
      usedTokensBefore: before,
      usedTokensAfter: used,
      pendingTokens: others.pending,
      unaskedTokens: others.unasked,
    };
  }

  async raise(known: readonly KnownTotal[]): Promise<void> {
    const raise = ({ counter: name, total }: KnownTotal) => {
      const { counter, pending } = counterKeys(name);
      const keys = new KeyList();
      const terms = { counter: keys.at(counter), pending: keys.at(pending), known: total };
      return this.#script.run('raise', keys, { ...terms, forgotten_at: dayForgottenAtMs(name.span.lastDay) });
    };
    await Promise.all(known.map(raise));
  }

  async heartbeat({ group, replicaId, admissions, lastAnsweredAtMs }: Heartbeat): Promise<ReplicaPlace> {
    await Promise.all([...Map.groupBy(admissions, nameOf).values()].map((ofKey) => this.#record(ofKey)));
    const keys = new KeyList();
    keys.at(`rl:replicas:${group}`);
    const terms = { replica: replicaId, silence: replicaSilenceMs, last_answered_at: lastAnsweredAtMs };
    const { replicas, position, ...answer } = await this.#script.run('heartbeat', keys, terms);
    const { longest_silence: longestSilenceMs, now: answeredAtMs, is_new: isNew } = answer;
    return { replicas, position, longestSilenceMs, answeredAtMs, isNew };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
  }

  async #renewOne(running: Reservation): Promise<void> {
    const { requestId: id, localDay } = running;
    const keys = new KeyList();
    const leases = heldMetersOf(running).map((meter) => ({ ...leasesOf(meter, localDay, keys), amount: meter.cost }));
    await this.#script.run('renew', keys, { id, ended: keys.at(endedKey(running)), leases });
  }

  async #giveBack({ requestId, ...terms }: Reservation): Promise<void> {
    const keys = new KeyList();
    const subjects = subjectsOf(terms).map(redisKeys);
    await this.#script.run('give_back', keys, {
      id: requestId,
      slots: subjects.map(({ window, returned }) => ({ window: keys.at(window), returned: keys.at(returned) })),
      leases: subjects.map(({ leases }) => keys.leasesAt(leases, LEASE_MS)),
    });
  }

  async #record(admissions: readonly OwnAdmission[]): Promise<void> {
    const [first] = admissions;
    if (first === undefined) return;
    const { window, returned } = redisKeys(first);
    const keys = new KeyList();
    await this.#script.run('record', keys, {
      window: keys.at(window),
      returned: keys.at(returned),
      entries: admissions.map(({ requestId: id, ageMs: age, isReturned }) => ({ id, age, is_returned: isReturned })),
    });
  }
}
