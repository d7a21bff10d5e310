import {
  type Check,
  type CounterName,
  type Decision,
  dayForgottenAtMs,
  daySpan,
  decisionOf,
  type Heartbeat,
  isPlain,
  type KnownTotal,
  type LedgerTotal,
  type LimitStore,
  maxPendingIds,
  nameOf,
  type OwnAdmission,
  type ReloadedCounter,
  type ReplicaPlace,
  type Reservation,
  type RunningRequest,
  replicaSilenceMs,
  type SettledTotals,
  type Settlement,
  undecided,
} from '@gateway/limits';
import { CostKind, type Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
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
import {
  endOfLocalDayMs,
  epochMs,
  type LocalDay,
  localDayOf,
  startOfLocalDayMs,
  yieldToEventLoop,
} from '@gateway/time';
import { instantOf, RedisGroupLimits } from './redis-group-limits.ts';
import { counterKeys, redisKeys } from './redis-keys.ts';
import { RedisScripts } from './redis-scripts.ts';

export interface RedisLimitStoreOptions {
  readonly settings: RedisSettings;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** For tests only: replaces Redis' clock in every script. */
  readonly redisNowMs?: (() => number) | undefined;
  /** For tests only. */
  readonly maxPendingIds?: number;
}

/** Redis does nothing else while it decides this many. */
const maxBatch = 100;

/**
 * Windows and counters that all limiters share, by Redis' clock. Each operation on a key is one
 * script, but all checks of one turn of the event loop share a script. Every call is safe to
 * repeat, and is repeated when its connection breaks.
 *
 * The local day also follows Redis' clock, so that all limiters agree on midnight. Keys must be
 * named before the script runs, so this process guesses the day from its own clock. If Redis' clock
 * contradicts the guess, the script changes nothing and returns the time, and the call is made
 * again with the right day.
 */
export class RedisLimitStore implements LimitStore, AsyncDisposable {
  readonly #options: RedisLimitStoreOptions;
  readonly #redis: ReturnType<typeof openRedis>;
  readonly #operation: RedisOperation;
  readonly #scripts: RedisScripts;
  readonly #groups: RedisGroupLimits;
  readonly #maxPendingIds: number;
  /** Checks of this turn of the event loop, which share a script. */
  readonly #batches = new Map<string, Batch>();
  /** How far Redis' clock is ahead of ours, learned from wrong guesses. */
  #aheadMs = 0;

  constructor(options: RedisLimitStoreOptions) {
    this.#options = options;
    this.#maxPendingIds = options.maxPendingIds ?? maxPendingIds;
    const onFault = (reason: string) => options.logger.warn({ reason }, 'connection to Redis failed');
    this.#redis = openRedis({ ...options, isRepeatable: true, onFault });
    this.#operation = redisOperations(options.metrics);
    const { redisNowMs } = options;
    this.#scripts = new RedisScripts({ redis: this.#redis, operation: this.#operation, redisNowMs });
    this.#groups = new RedisGroupLimits(this.#scripts);
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
    if (!isPlain(check)) return this.#onLocalDay((localDay) => this.#groups.admit(check, localDay));
    // A cluster accepts a script for one hash tag only.
    const name = this.#options.settings.place.kind === 'cluster' ? check.key : '';
    const batch = this.#batches.get(name) ?? this.#openBatch(name);
    const place = batch.checks.push(check) - 1;
    if (batch.checks.length === maxBatch) this.#batches.delete(name);
    const decision = (await batch.decisions)[place];
    if (decision === undefined) throw new Error('a Redis script returned too few values');
    return decision;
  }

  reserve(reservation: Reservation): Promise<Refusal | undefined> {
    return this.#groups.reserve(reservation);
  }

  renew(running: readonly RunningRequest[]): Promise<void> {
    return this.#groups.renew(running);
  }

  async settle(settlement: Settlement): Promise<SettledTotals> {
    const { key, requestId, localDay, tokens, hasLedger, ended = false, limits } = settlement;
    const isCounted = limits === undefined || limits.tokensPerDay !== undefined;
    if (!isPlain(settlement) || ended || !isCounted) return this.#groups.settle(settlement, this.#maxPendingIds);
    const { counter, pending, settled } = counterKeys({ key, span: daySpan(localDay) });
    const terms = [requestId, tokens, hasLedger ? 1 : 0, this.#maxPendingIds, ...this.#lifetimeOf(localDay)];
    const [usedTokens = 0, isLoaded] = await this.#scripts.run('settle', [counter, pending, settled], terms);
    return { usedTokens, isLoaded: isLoaded === 1 };
  }

  async pendingIds(counter: CounterName, pauseMs: number): Promise<readonly string[] | undefined> {
    const { pending, reload, reservedUntil } = counterKeys(counter);
    const isPaused = async () => pauseMs > 0 && (await this.#redis.set(reload, '', 'PX', pauseMs, 'NX')) === null;
    const ids = async () => {
      if (counter.span.unit === 'tokens') return this.#redis.hkeys(pending);
      const both = [this.#redis.hkeys(pending), this.#redis.zrange(reservedUntil, 0, `${maxPendingIds - 1}`)];
      return (await Promise.all(both)).flat().slice(0, maxPendingIds);
    };
    return this.#operation('pendingIds', async () => ((await isPaused()) ? undefined : ids()));
  }

  async reload(name: CounterName, total: LedgerTotal): Promise<ReloadedCounter> {
    const { totalTokens, includedIds, missingIds, force, isTentative } = total;
    const { counter, pending, settled, reserved, reservedUntil } = counterKeys(name);
    const { unit, lastDay } = name.span;
    const keys = [counter, pending, ...(unit === 'tokens' ? [] : [reserved, reservedUntil, settled])];
    const terms = [totalTokens, force ? 1 : 0, this.#maxPendingIds, ...this.#lifetimeOf(lastDay)];
    const ids = [isTentative ? 1 : 0, includedIds.length, ...includedIds, ...missingIds];
    const numbers = await this.#scripts.run('reload', keys, [...terms, ...ids]);
    const [before, usedTokensAfter = 0, pendingTokens = 0, unaskedTokens = 0] = numbers;
    return { usedTokensBefore: instantOf(before), usedTokensAfter, pendingTokens, unaskedTokens };
  }

  async raise(known: readonly KnownTotal[]): Promise<void> {
    const raise = ({ counter: name, total }: KnownTotal) => {
      const { counter, pending } = counterKeys(name);
      return this.#scripts.run('raise', [counter, pending], [total, ...this.#lifetimeOf(name.span.lastDay)]);
    };
    await Promise.all(known.map(raise));
  }

  async heartbeat({ group, replicaId, admissions, lastAnsweredAtMs }: Heartbeat): Promise<ReplicaPlace> {
    const record = (ofKey: readonly OwnAdmission[]) => {
      const windows = ofKey
        .slice(0, 1)
        .map(redisKeys)
        .flatMap(({ window, returned }) => [window, returned]);
      const entries = ofKey.flatMap(({ requestId, ageMs, isReturned }) => [requestId, ageMs, isReturned ? 1 : 0]);
      return this.#scripts.run('recordAdmissions', windows, [this.#scripts.testTime, ...entries]);
    };
    await Promise.all([...Map.groupBy(admissions, nameOf).values()].map(record));
    const terms = [replicaId, replicaSilenceMs, lastAnsweredAtMs ?? '', this.#scripts.testTime];
    const numbers = await this.#scripts.run('heartbeat', [`rl:replicas:${group}`], terms);
    const [replicas = 1, position = 0, longestSilenceMs = 0, answeredAtMs, isNew] = numbers;
    return { replicas, position, longestSilenceMs, answeredAtMs, isNew: isNew === 1 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
  }

  /** Collects checks until the end of this turn of the event loop. */
  #openBatch(name: string): Batch {
    const checks: Check[] = [];
    const decisions = yieldToEventLoop().then(() => {
      if (this.#batches.get(name)?.checks === checks) this.#batches.delete(name);
      return this.#admitAll(checks);
    });
    this.#batches.set(name, { checks, decisions });
    return { checks, decisions };
  }

  async #admitAll(checks: readonly Check[]): Promise<readonly Decision[]> {
    const terms = checks.flatMap(termsOf);
    return this.#onLocalDay(async (localDay) => {
      const span = daySpan(localDay);
      const keys = checks.flatMap(({ key }) => [redisKeys({ key }).window, counterKeys({ key, span }).counter]);
      const day = [startOfLocalDayMs(localDay), endOfLocalDayMs(localDay), this.#scripts.testTime];
      const numbers = await this.#scripts.run('admit', keys, [...day, ...terms]);
      if (numbers.length === 1) return numbers[0] ?? 0;
      return checks.map((check, n) => decisionFrom(numbers.slice(6 * n, 6 * n + 6), check, localDay));
    });
  }

  /** Calls with a guess of Redis' local day, and again when the answer is Redis' time. */
  async #onLocalDay<T>(call: (localDay: LocalDay) => Promise<T | number>): Promise<T> {
    // Midnight may pass between a guess and its check.
    for (let guesses = 0; guesses < 3; guesses++) {
      const answer = await call(localDayOf(epochMs() + this.#aheadMs));
      if (typeof answer !== 'number') return answer;
      this.#aheadMs = answer - epochMs();
    }
    throw new Error('the clock of Redis jumps: the local day is unknown');
  }

  /** When a day is forgotten, and the time of a test. */
  #lifetimeOf(day: LocalDay) {
    return [dayForgottenAtMs(day), this.#scripts.testTime];
  }
}

interface Batch {
  readonly checks: Check[];
  readonly decisions: Promise<readonly Decision[]>;
}

function termsOf({
  requestId,
  limits,
  costKind,
  hasLedger = false,
  isLedgerAway = false,
}: Check): readonly (string | number)[] {
  const { requestsPerMinute = '', tokensPerDay } = limits ?? {};
  const isBudgeted = costKind !== CostKind.REQUEST_ONLY;
  return [
    requestId,
    requestsPerMinute,
    tokensPerDay?.toString() ?? '',
    isBudgeted ? 1 : 0,
    hasLedger && !isLedgerAway ? 1 : 0,
  ];
}

/** Kinds: 1 total unknown, 2 admitted, 3 refused. */
function decisionFrom(reply: readonly number[], check: Check, localDay: LocalDay): Decision {
  const [nowMs = 0, kind, count = 0, newest, freeing, usedTokens = 0] = reply;
  if (kind === 1) return undecided(localDay, [{ key: check.key, span: daySpan(localDay) }]);
  const requests = { count, newestMs: instantOf(newest), freeingMs: instantOf(freeing) };
  return decisionOf(check, { nowMs, localDay, usedTokens, requests }, kind === 2);
}
