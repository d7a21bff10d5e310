import { readFileSync } from 'node:fs';
import {
  type Check,
  type DayTotal,
  type Decision,
  dayForgottenAtMs,
  decisionOf,
  type Heartbeat,
  type LedgerTotal,
  type LimitStore,
  maxPendingIds,
  type OwnAdmission,
  type ReloadedDay,
  type ReplicaPlace,
  replicaSilenceMs,
  type Settlement,
  undecided,
} from '@gateway/limits';
import { CostKind } from '@gateway/proto/limiter/v1/limit_pb.js';
import {
  connectTimeoutMs,
  onReconnected,
  openRedis,
  type RedisOperation,
  type RedisSettings,
  redisOperations,
  runScript,
  scriptOf,
  within,
} from '@gateway/redis';
import type { Logger, Metrics } from '@gateway/telemetry';
import {
  type Clock,
  endOfLocalDayMs,
  type LocalDay,
  localDayOf,
  startOfLocalDayMs,
  yieldToEventLoop,
} from '@gateway/time';

export interface RedisLimitStoreOptions {
  readonly settings: RedisSettings;
  /** How long a call may take, including its repeat. */
  readonly timeoutMs: number;
  /** Used only to guess the local day; decisions use Redis' clock. */
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** For tests only: replaces Redis' clock in every script. */
  readonly redisClock?: Clock;
  /** For tests only. */
  readonly maxPendingIds?: number;
}

/** Redis does nothing else while it decides this many. */
const maxBatch = 100;

/** All keys of one call share a hash tag, so that a cluster accepts each script. */
const scripts = {
  admit: readScript(new URL('./admit.lua', import.meta.url)),
  settle: readScript(new URL('./settle.lua', import.meta.url)),
  reloadDay: readScript(new URL('./reload-day.lua', import.meta.url)),
  recordAdmissions: readScript(new URL('./record-admissions.lua', import.meta.url)),
  heartbeat: readScript(new URL('./heartbeat.lua', import.meta.url)),
};

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
  }

  /** Calls the listener when Redis may have lost its latest writes. */
  onReconnected(listener: () => void): void {
    onReconnected(this.#redis, listener);
  }

  /** Connects. Fails when Redis is not reachable; the connection is retried in the background. */
  async start(): Promise<void> {
    await this.#operation('connect', () => within(connectTimeoutMs, this.#redis.connect()));
    const memory = await this.#inTime('info', () => this.#redis.info('memory')).catch(() => '');
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
    // An evicted key is a limit that is silently forgotten.
    if (policy !== undefined && policy !== 'noeviction') {
      const advice = 'Redis may evict limits when its memory is full; set maxmemory-policy noeviction';
      this.#options.logger.warn({ policy }, advice);
    }
  }

  async admit(check: Check): Promise<Decision> {
    // A cluster accepts a script for one hash tag only.
    const name = this.#options.settings.place.kind === 'cluster' ? check.key : '';
    const batch = this.#batches.get(name) ?? this.#openBatch(name);
    const place = batch.checks.push(check) - 1;
    if (batch.checks.length === maxBatch) this.#batches.delete(name);
    const decision = (await batch.decisions)[place];
    if (decision === undefined) throw new Error('a Redis script returned too few values');
    return decision;
  }

  async settle({ key, requestId, localDay, tokens, hasLedger }: Settlement): Promise<DayTotal> {
    const { counter, pending, settled } = redisKeys(key, localDay);
    const terms = [requestId, tokens, hasLedger ? 1 : 0, this.#maxPendingIds, ...this.#lifetimeOf(localDay)];
    const [usedTokens = 0, isLoaded] = await this.#run('settle', [counter, pending, settled], terms);
    return { usedTokens, isLoaded: isLoaded === 1 };
  }

  async pendingIds(key: string, day: LocalDay, pauseMs: number): Promise<readonly string[] | undefined> {
    const { pending, reload } = redisKeys(key, day);
    const isPaused = async () => pauseMs > 0 && (await this.#redis.set(reload, '', 'PX', pauseMs, 'NX')) === null;
    const read = async () => ((await isPaused()) ? undefined : this.#redis.hkeys(pending));
    return this.#inTime('pendingIds', read);
  }

  async reloadDay(key: string, day: LocalDay, total: LedgerTotal): Promise<ReloadedDay> {
    const { totalTokens, includedIds, missingIds, force, isTentative } = total;
    const { counter, pending } = redisKeys(key, day);
    const terms = [totalTokens, force ? 1 : 0, this.#maxPendingIds, ...this.#lifetimeOf(day)];
    const ids = [isTentative ? 1 : 0, includedIds.length, ...includedIds, ...missingIds];
    const numbers = await this.#run('reloadDay', [counter, pending], [...terms, ...ids]);
    const [before, usedTokensAfter = 0, pendingTokens = 0, unaskedTokens = 0] = numbers;
    return { usedTokensBefore: instantOf(before), usedTokensAfter, pendingTokens, unaskedTokens };
  }

  async heartbeat({ group, replicaId, admissions, lastAnsweredAtMs }: Heartbeat): Promise<ReplicaPlace> {
    const record = ([key, ofKey]: readonly [string, readonly OwnAdmission[]]) => {
      const entries = ofKey.flatMap(({ requestId, ageMs }) => [requestId, ageMs]);
      return this.#run('recordAdmissions', [redisKeys(key, '').window], [this.#testTime(), ...entries]);
    };
    await Promise.all([...Map.groupBy(admissions, ({ key }) => key)].map(record));
    const terms = [replicaId, replicaSilenceMs, lastAnsweredAtMs ?? '', this.#testTime()];
    const numbers = await this.#run('heartbeat', [`rl:replicas:${group}`], terms);
    const [replicas = 1, position = 0, longestSilenceMs = 0, answeredAtMs] = numbers;
    return { replicas, position, longestSilenceMs, answeredAtMs };
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
    // Midnight may pass between a guess and its check.
    for (let guesses = 0; guesses < 3; guesses++) {
      const localDay = localDayOf(this.#options.clock.nowMs() + this.#aheadMs);
      const keys = checks.flatMap(({ key }) => [redisKeys(key, localDay).window, redisKeys(key, localDay).counter]);
      const day = [startOfLocalDayMs(localDay), endOfLocalDayMs(localDay), this.#testTime()];
      const numbers = await this.#run('admit', keys, [...day, ...terms]);
      if (numbers.length > 1)
        return checks.map((check, n) => decisionFrom(numbers.slice(6 * n, 6 * n + 6), check, localDay));
      this.#aheadMs = (numbers[0] ?? 0) - this.#options.clock.nowMs();
    }
    throw new Error('the clock of Redis jumps: the local day is unknown');
  }

  async #run(name: keyof typeof scripts, keys: readonly string[], terms: readonly (string | number)[]) {
    const reply = await this.#inTime(name, () => runScript(this.#redis, scripts[name], keys, terms));
    // A script that only writes returns nothing.
    const numbers = Array.isArray(reply) ? reply : [];
    if (numbers.every((each) => typeof each === 'number')) return numbers as readonly number[];
    throw new Error('a Redis script returned values that are not numbers');
  }

  #inTime<T>(name: string, call: () => Promise<T>): Promise<T> {
    return this.#operation(name, () => within(this.#options.timeoutMs, call()));
  }

  /** When a day is forgotten, and the time of a test. */
  #lifetimeOf(day: LocalDay) {
    return [dayForgottenAtMs(day), this.#testTime()];
  }

  #testTime(): number | '' {
    return this.#options.redisClock?.nowMs() ?? '';
  }
}

interface Batch {
  readonly checks: Check[];
  readonly decisions: Promise<readonly Decision[]>;
}

function termsOf({ requestId, limits, costKind, hasLedger }: Check): readonly (string | number)[] {
  const { requestsPerMinute = '', tokensPerDay } = limits ?? {};
  const isBudgeted = costKind !== CostKind.REQUEST_ONLY;
  return [requestId, requestsPerMinute, tokensPerDay?.toString() ?? '', isBudgeted ? 1 : 0, hasLedger ? 1 : 0];
}

/** Kinds: 1 total unknown, 2 admitted, 3 refused. */
function decisionFrom(reply: readonly number[], check: Check, localDay: LocalDay): Decision {
  const [nowMs = 0, kind, count = 0, newest, freeing, usedTokens = 0] = reply;
  if (kind === 1) return undecided(localDay);
  const requests = { count, newestMs: instantOf(newest), freeingMs: instantOf(freeing) };
  return decisionOf(check, { nowMs, localDay, usedTokens, requests }, kind === 2);
}

function instantOf(replied = -1): number | undefined {
  return replied === -1 ? undefined : replied;
}

/** All keys of one limited key share a hash tag: braces in it would end the tag early. */
function redisKeys(key: string, day: LocalDay) {
  const tag = /[%{}]/.test(key) ? key.replace(/[%{}]/g, encodeURIComponent) : key;
  const counter = `rl:{${tag}}:d:${day}`;
  return {
    window: `rl:{${tag}}:m`,
    counter,
    pending: `${counter}:pending`,
    settled: `${counter}:settled`,
    reload: `${counter}:reload`,
  };
}

function readScript(file: URL) {
  const shared = new URL('./shared.lua', import.meta.url);
  return scriptOf([shared, file].map((each) => readFileSync(each, 'utf8')).join('\n'));
}
