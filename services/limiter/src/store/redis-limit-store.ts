import { readFileSync } from 'node:fs';
import { setImmediate as endOfTurn } from 'node:timers/promises';
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
import { type Clock, endOfLocalDayMs, type LocalDay, localDayOf, startOfLocalDayMs } from '@gateway/time';

export interface RedisLimitStoreOptions {
  readonly settings: RedisSettings;
  /** How long a call may take, its repetition included. */
  readonly timeoutMs: number;
  /** Only to guess the local day with; what counts is Redis' clock. */
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** For tests only: takes the place of Redis' clock in every script. */
  readonly redisClock?: Clock;
  /** For tests only. */
  readonly maxPendingIds?: number;
}

/** Redis does nothing else while it decides as many. */
const maxBatch = 100;

/** All keys of one call have one hash tag: a cluster takes each script. */
const scripts = {
  admit: readScript(new URL('./admit.lua', import.meta.url)),
  settle: readScript(new URL('./settle.lua', import.meta.url)),
  reloadDay: readScript(new URL('./reload-day.lua', import.meta.url)),
  recordAdmissions: readScript(new URL('./record-admissions.lua', import.meta.url)),
  heartbeat: readScript(new URL('./heartbeat.lua', import.meta.url)),
};

/**
 * Windows and counters that all limiters share, on Redis' clock: one script per verb and key, but checks that are asked in one turn
 * of the event loop go by one script. Each of its calls may be repeated as a whole, and is, when its connection breaks.
 *
 * The local day is that of Redis' clock as well, so that every limiter agrees on midnight. It is worked out here, because
 * keys must be named before the script runs: the day is guessed from our own clock, the script refuses a guess that its
 * clock contradicts and answers the time, and the call is made again with the right day.
 */
export class RedisLimitStore implements LimitStore, AsyncDisposable {
  readonly #options: RedisLimitStoreOptions;
  readonly #redis: ReturnType<typeof openRedis>;
  readonly #operation: RedisOperation;
  readonly #maxPendingIds: number;
  /** Checks of this turn of the event loop: they go by one script. */
  readonly #batches = new Map<string, Batch>();
  /** By how much Redis' clock is ahead of ours, learnt from wrong guesses. */
  #aheadMs = 0;

  constructor(options: RedisLimitStoreOptions) {
    this.#options = options;
    this.#maxPendingIds = options.maxPendingIds ?? maxPendingIds;
    const onFault = (reason: string) => options.logger.warn({ reason }, 'connection to Redis failed');
    this.#redis = openRedis({ ...options, isRepeatable: true, onFault });
    this.#operation = redisOperations(options.metrics);
  }

  /** Calls back when Redis may have come to lack what it got last. */
  onReconnected(listener: () => void): void {
    onReconnected(this.#redis, listener);
  }

  /** Connects. Fails when Redis is not there; the connection is tried further in the background. */
  async start(): Promise<void> {
    await this.#operation('connect', () => within(connectTimeoutMs, this.#redis.connect()));
    const memory = await this.#inTime('info', () => this.#redis.info('memory')).catch(() => '');
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
    // Evicted keys are limits forgotten without a trace.
    if (policy !== undefined && policy !== 'noeviction') {
      const advice = 'Redis may evict limits when its memory is full; set maxmemory-policy noeviction';
      this.#options.logger.warn({ policy }, advice);
    }
  }

  async admit(check: Check): Promise<Decision> {
    // A cluster takes a script for one hash tag only.
    const name = this.#options.settings.place.kind === 'cluster' ? check.key : '';
    const batch = this.#batches.get(name) ?? this.#openBatch(name);
    const place = batch.checks.push(check) - 1;
    if (batch.checks.length === maxBatch) this.#batches.delete(name);
    const decision = (await batch.decisions)[place];
    if (decision === undefined) throw new Error('a script answered too little');
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

  /** Takes checks until the end of this turn of the event loop. */
  #openBatch(name: string): Batch {
    const checks: Check[] = [];
    const decisions = endOfTurn().then(() => {
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
    throw new Error("Redis' clock jumps: the local day is not known");
  }

  async #run(name: keyof typeof scripts, keys: readonly string[], terms: readonly (string | number)[]) {
    const reply = await this.#inTime(name, () => runScript(this.#redis, scripts[name], keys, terms));
    // A script that only writes answers nothing.
    const numbers = Array.isArray(reply) ? reply : [];
    if (numbers.every((each) => typeof each === 'number')) return numbers as readonly number[];
    throw new Error('a script answered something else than numbers');
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

/** All keys of one limited key have one hash tag: braces in it would end the tag early. */
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
