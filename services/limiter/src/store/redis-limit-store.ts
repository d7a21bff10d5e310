import { setImmediate as endOfTurn } from 'node:timers/promises';
import { type ReplicaPlace, replicaSilenceMs } from '@gateway/lifecycle/replica-share';
import { type Clock, endOfLocalDayMs, type LocalDay, localDayOf, startOfLocalDayMs } from '@gateway/time';
import type { RecordedAdmission } from '../windows/decide.ts';
import { type Decision, dayForgottenAtMs, decisionOf } from '../windows/decide.ts';
import * as port from './limit-store.ts';
import type { RedisConnection } from './redis-connection.ts';

export interface RedisLimitStoreOptions {
  readonly redis: RedisConnection;
  /** Only to guess the local day with; what counts is Redis' clock. */
  readonly clock: Clock;
  /** For tests only: takes the place of Redis' clock in every script. */
  readonly redisClock?: Clock;
  /** For tests only. */
  readonly maxPendingIds?: number;
}

/** Redis does nothing else while it decides as many. */
const maxBatch = 100;

/**
 * Windows and counters that all limiters share, on Redis' clock: one script per verb and key, but checks that are asked in one turn
 * of the event loop go by one script. Each of its calls may be repeated as a whole.
 *
 * The local day is that of Redis' clock as well, so that every limiter agrees on midnight. It is worked out here, because
 * keys must be named before the script runs: the day is guessed from our own clock, the script refuses a guess that its
 * clock contradicts and answers the time, and the call is made again with the right day.
 */
export class RedisLimitStore implements port.LimitStore {
  readonly #options: RedisLimitStoreOptions;
  readonly #redis: RedisConnection;
  readonly #maxPendingIds: number;
  /** Checks of this turn of the event loop: they go by one script. */
  readonly #batches = new Map<string, Batch>();
  /** By how much Redis' clock is ahead of ours, learnt from wrong guesses. */
  #aheadMs = 0;

  constructor(options: RedisLimitStoreOptions) {
    this.#options = options;
    this.#redis = options.redis;
    this.#maxPendingIds = options.maxPendingIds ?? port.maxPendingIds;
  }

  start(): Promise<void> {
    return this.#redis.start();
  }

  /** Fails when Redis does not answer, or takes nothing new: its memory is full, it is a replica, its disk fails. */
  async probe(): Promise<void> {
    await this.#redis.call((redis) => redis.set('rl:probe', '', 'PX', 1_000));
  }

  async admit(check: port.Check): Promise<Decision | port.DayTotalUnknown> {
    // A cluster takes a script for one hash tag only.
    const name = this.#redis.isCluster ? check.key : '';
    const batch = this.#batches.get(name) ?? this.#openBatch(name);
    const place = batch.checks.push(check) - 1;
    if (batch.checks.length === maxBatch) this.#batches.delete(name);
    const decision = (await batch.decisions)[place];
    if (decision === undefined) throw new Error('a script answered too little');
    return decision;
  }

  async settle({ key, requestId, localDay, tokens, hasLedger }: port.Settlement): Promise<port.DayTotal> {
    const { counter, pending, settled } = redisKeys(key, localDay);
    const terms = [requestId, tokens, hasLedger ? 1 : 0, this.#maxPendingIds, ...this.#lifetimeOf(localDay)];
    const reply = await this.#redis.call((redis) => redis.settleRequest(counter, pending, settled, ...terms));
    const [usedTokens = 0, isLoaded] = numbersOf(reply);
    return { usedTokens, isLoaded: isLoaded === 1 };
  }

  async pendingIds(key: string, day: LocalDay, pauseMs: number): Promise<readonly string[] | undefined> {
    const { pending, reload } = redisKeys(key, day);
    return this.#redis.call(async (redis) => {
      if (pauseMs > 0 && (await redis.set(reload, '', 'PX', pauseMs, 'NX')) === null) return undefined;
      return redis.hkeys(pending);
    });
  }

  async reloadDay(key: string, day: LocalDay, { totalTokens, includedIds, force }: port.LedgerTotal) {
    const { counter, pending } = redisKeys(key, day);
    const terms = [totalTokens, force ? 1 : 0, this.#maxPendingIds, ...this.#lifetimeOf(day), ...includedIds];
    const reply = await this.#redis.call((redis) => redis.reloadDay(counter, pending, ...terms));
    const [before = -1, usedTokensAfter = 0, pendingTokens = 0] = numbersOf(reply);
    return { usedTokensBefore: instantOf(before), usedTokensAfter, pendingTokens };
  }

  async recordAdmissions(key: string, admissions: readonly RecordedAdmission[]): Promise<void> {
    const { window } = redisKeys(key, '');
    const entries = admissions.flatMap(({ requestId, ageMs }) => [requestId, ageMs]);
    await this.#redis.call((redis) => redis.recordAdmissions(window, this.#testTime(), ...entries));
  }

  async heartbeat(group: string, replicaId: string): Promise<ReplicaPlace> {
    const terms = [replicaId, replicaSilenceMs, this.#testTime()];
    const reply = await this.#redis.call((redis) => redis.countReplicas(`rl:replicas:${group}`, ...terms));
    const [replicas = 1, position = 0] = numbersOf(reply);
    return { replicas, position };
  }

  /** Takes checks until the end of this turn of the event loop. */
  #openBatch(name: string): Batch {
    const checks: port.Check[] = [];
    const decisions = endOfTurn().then(() => {
      if (this.#batches.get(name)?.checks === checks) this.#batches.delete(name);
      return this.#admitAll(checks);
    });
    this.#batches.set(name, { checks, decisions });
    return { checks, decisions };
  }

  async #admitAll(checks: readonly port.Check[]): Promise<readonly (Decision | port.DayTotalUnknown)[]> {
    const terms = checks.flatMap(termsOf);
    // Midnight may pass between a guess and its check.
    for (let guesses = 0; guesses < 3; guesses++) {
      const localDay = localDayOf(this.#options.clock.nowMs() + this.#aheadMs);
      const keys = checks.flatMap(({ key }) => [redisKeys(key, localDay).window, redisKeys(key, localDay).counter]);
      const day = [startOfLocalDayMs(localDay), endOfLocalDayMs(localDay), this.#testTime()];
      const reply = await this.#redis.call((redis) => redis.admitRequests(keys.length, ...keys, ...day, ...terms));
      const numbers = numbersOf(reply);
      if (numbers.length > 1)
        return checks.map((check, n) => decisionFrom(numbers.slice(6 * n, 6 * n + 6), check, localDay));
      this.#aheadMs = (numbers[0] ?? 0) - this.#options.clock.nowMs();
    }
    throw new Error("Redis' clock jumps: the local day is not known");
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
  readonly checks: port.Check[];
  readonly decisions: Promise<readonly (Decision | port.DayTotalUnknown)[]>;
}

function termsOf({ requestId = '', limits, costKind, hasLedger }: port.Check): readonly (string | number)[] {
  const { requestsPerMinute = '', tokensPerDay = '' } = limits;
  return [requestId, requestsPerMinute, tokensPerDay, costKind === 'request_only' ? 0 : 1, hasLedger ? 1 : 0];
}

/** Kinds: 1 total unknown, 2 admitted, 3 refused. */
function decisionFrom(
  reply: readonly number[],
  check: port.Check,
  localDay: LocalDay,
): Decision | port.DayTotalUnknown {
  const [nowMs = 0, kind, count = 0, newest, freeing, usedTokens = 0] = reply;
  if (kind === 1) return { kind: 'day_total_unknown', localDay };
  const requests = { count, newestMs: instantOf(newest), freeingMs: instantOf(freeing) };
  return decisionOf(check, { nowMs, localDay, usedTokens, requests }, kind === 2);
}

function numbersOf(reply: unknown): readonly number[] {
  if (Array.isArray(reply) && reply.every((each) => typeof each === 'number')) return reply;
  throw new Error('a script answered something else than numbers');
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
