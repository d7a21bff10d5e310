import { randomUUID } from 'node:crypto';
import { type ReplicaPlace, replicaSilenceMs } from '@gateway/lifecycle/replica-share';
import type { Clock, LocalDay } from '@gateway/time';
import { type DaySpan, dayForgottenAtMs, daySpanAt } from '../windows/day-budget.ts';
import type { KeyFacts } from '../windows/key-facts.ts';
import { admittedWith, type Decision, refusedWith, statusOf } from '../windows/limit-status.ts';
import type { Limits } from '../windows/limits.ts';
import type {
  AdmitCheck,
  DayBaseUnknown,
  DayTotal,
  KeyQuestion,
  LimitStore,
  ReconciledDay,
  RecordedAdmission,
  Settlement,
} from './limit-store.ts';
import { maxPendingIds } from './max-pending-ids.ts';
import type { RedisConnection } from './redis-connection.ts';
import { probeKey, redisKeys, replicasKey, windowKey } from './redis-keys.ts';
import { readNumbers, readTexts } from './redis-reply.ts';
import { type RedisScript, readRedisScript } from './redis-script.ts';

export interface RedisLimitStoreOptions {
  readonly redis: RedisConnection;
  /** Only to guess the local day with; what counts is Redis' clock. */
  readonly clock: Clock;
  /** For tests only: takes the place of Redis' clock in every script. */
  readonly redisClock?: Clock;
  /** For tests only. */
  readonly maxPendingIds?: number;
}

const scripts = {
  admit: readRedisScript('admit.lua'),
  peek: readRedisScript('peek.lua'),
  settle: readRedisScript('settle.lua'),
  recordAdmissions: readRedisScript('record-admissions.lua'),
  rememberDayBase: readRedisScript('remember-day-base.lua'),
  heartbeat: readRedisScript('heartbeat.lua'),
  beginReconciliation: readRedisScript('begin-reconciliation.lua'),
  finishReconciliation: readRedisScript('finish-reconciliation.lua'),
};

/**
 * Windows and counters that all limiters share: one script per verb, on Redis' clock. A script decides many checks, or settles
 * many requests, in one call: most of what a call costs, on both sides, is the call.
 *
 * The local day is that of Redis' clock as well, so that every limiter agrees on midnight. It is worked out here, because
 * keys must be named before the script runs: the day is guessed from our own clock, the script refuses a guess that its
 * clock contradicts and tells the time, and the call is made again with the right day.
 */
export class RedisLimitStore implements LimitStore {
  readonly #redis: RedisConnection;
  readonly #clock: Clock;
  readonly #redisClock: Clock | undefined;
  readonly #maxPendingIds: number;
  /** By how much Redis' clock is ahead of ours, learnt from wrong guesses. */
  #aheadMs = 0;

  constructor({ redis, clock, redisClock, maxPendingIds: maxPending }: RedisLimitStoreOptions) {
    this.#maxPendingIds = maxPending ?? maxPendingIds;
    this.#redis = redis;
    this.#clock = clock;
    this.#redisClock = redisClock;
  }

  start(): Promise<void> {
    return this.#redis.start();
  }

  /** Fails when Redis does not answer, or takes nothing new. */
  probe(): Promise<void> {
    return this.#redis.tryWrite(probeKey);
  }

  async admit(check: AdmitCheck): Promise<Decision | DayBaseUnknown> {
    return only(await this.admitAll([check]));
  }

  async admitAll(checks: readonly AdmitCheck[]): Promise<readonly (Decision | DayBaseUnknown)[]> {
    return inParts(checks, (part) => this.#decide(part));
  }

  async settle(settlement: Settlement): Promise<DayTotal> {
    return only(await this.settleAll([settlement]));
  }

  async settleAll(settlements: readonly Settlement[]): Promise<readonly DayTotal[]> {
    return inParts(settlements, (part) => this.#settle(part));
  }

  async peek({ key, limits, dayBase }: KeyQuestion): ReturnType<LimitStore['peek']> {
    for (let attempt = 0; attempt < maxGuesses; attempt++) {
      const span = this.#guessDay();
      const { window, counter } = redisKeys(key, span.day);
      const reply = await this.#run(
        scripts.peek,
        [window, counter],
        [...limitTexts(limits), span.startMs, span.endMs, dayBase(span.day) ?? '', this.#testTime()],
      );
      const [nowMs = 0, kind] = reply;
      if (kind === undefined) this.#learnDay(nowMs);
      else if (kind === baseUnknown) return { kind: 'day_base_unknown', localDay: span.day };
      else return { kind: 'status', status: statusOf(limits, factsAt(reply, 0, span.day)) };
    }
    throw new Error(dayUnknown);
  }

  async recordAdmissions(key: string, admissions: readonly RecordedAdmission[]): Promise<void> {
    const texts = admissions.flatMap(({ requestId, ageMs }) => [requestId, ageMs]);
    await this.#redis.run(scripts.recordAdmissions, [windowKey(key)], [this.#testTime(), ...texts]);
  }

  async heartbeat(group: string, replicaId: string): Promise<ReplicaPlace> {
    const [replicas = 1, position = 0] = await this.#run(
      scripts.heartbeat,
      [replicasKey(group)],
      [replicaId, replicaSilenceMs, this.#testTime()],
    );
    return { replicas, position };
  }

  async rememberDayBase(key: string, day: LocalDay, tokens: number): Promise<number> {
    const [usedTokens = tokens] = await this.#run(
      scripts.rememberDayBase,
      [redisKeys(key, day).counter],
      [tokens, dayForgottenAtMs(day), this.#testTime()],
    );
    return usedTokens;
  }

  async beginReconciliation(...[key, day, { pauseMs, force }]: Parameters<LimitStore['beginReconciliation']>) {
    const ticket = randomUUID();
    const keys = redisKeys(key, day);
    const reply = await this.#redis.run(
      scripts.beginReconciliation,
      [keys.pending, keys.ticket],
      [ticket, Math.max(1, pauseMs), force ? '1' : ''],
    );
    return reply === null ? undefined : { ticket, pendingIds: readTexts(reply) };
  }

  async finishReconciliation(
    ...[key, day, ticket, { totalTokens, includedIds, force }]: Parameters<LimitStore['finishReconciliation']>
  ): Promise<ReconciledDay | undefined> {
    const keys = redisKeys(key, day);
    const reply = await this.#redis.run(
      scripts.finishReconciliation,
      [keys.counter, keys.pending, keys.told, keys.ticket],
      [
        ticket,
        totalTokens,
        dayForgottenAtMs(day),
        force ? '1' : '',
        this.#maxPendingIds,
        this.#testTime(),
        ...includedIds,
      ],
    );
    const [finished, before = -1, usedTokensAfter = 0, pendingTokens = 0] = readNumbers(reply);
    if (finished !== 1) return undefined;
    return { usedTokensBefore: before === -1 ? undefined : before, usedTokensAfter, pendingTokens };
  }

  async #decide(checks: readonly AdmitCheck[]): Promise<readonly (Decision | DayBaseUnknown)[]> {
    for (let attempt = 0; attempt < maxGuesses; attempt++) {
      const { day, startMs, endMs } = this.#guessDay();
      const keys: string[] = [];
      const parameters: (string | number)[] = [startMs, endMs, this.#testTime()];
      for (const check of checks) {
        const { window, counter } = redisKeys(check.key, day);
        keys.push(window, counter);
        parameters.push(check.requestId, termsOf(check, day));
      }
      const reply = await this.#run(scripts.admit, keys, parameters);
      if (reply.length > 1) return checks.map((check, index) => decisionAt(reply, index, check, day));
      this.#learnDay(reply[0] ?? 0);
    }
    throw new Error(dayUnknown);
  }

  async #settle(settlements: readonly Settlement[]): Promise<readonly DayTotal[]> {
    const keys: string[] = [];
    const parameters: (string | number)[] = [this.#maxPendingIds, this.#testTime()];
    for (const { key, requestId, localDay, tokens, dayBase } of settlements) {
      const { counter, pending, told } = redisKeys(key, localDay);
      keys.push(counter, pending, told);
      parameters.push(requestId, tokens, dayForgottenAtMs(localDay), dayBase(localDay) ?? '');
    }
    const reply = await this.#run(scripts.settle, keys, parameters);
    return settlements.map((_, index) => ({
      usedTokens: reply[2 * index] ?? 0,
      baseKnown: reply[2 * index + 1] === 1,
    }));
  }

  #guessDay(): DaySpan {
    return daySpanAt(this.#clock.nowMs() + this.#aheadMs);
  }

  /** The guess was wrong: this is Redis' time. */
  #learnDay(redisMs: number): void {
    this.#aheadMs = redisMs - this.#clock.nowMs();
  }

  async #run(script: RedisScript, keys: readonly string[], parameters: readonly (string | number)[]) {
    return readNumbers(await this.#redis.run(script, keys, parameters));
  }

  #testTime(): number | '' {
    return this.#redisClock?.nowMs() ?? '';
  }
}

/** Midnight may pass between a guess and its check. */
const maxGuesses = 3;
const dayUnknown = "Redis' clock jumps: the local day can't be told";

/** Redis does nothing else while a script runs: one of a hundred checks takes well under a millisecond. */
const maxInOneScript = 100;

/** Asks for so many at a time, all at once. */
async function inParts<I, O>(
  items: readonly I[],
  ask: (part: readonly I[]) => Promise<readonly O[]>,
): Promise<readonly O[]> {
  if (items.length === 0) return [];
  if (items.length <= maxInOneScript) return ask(items);
  const parts: Promise<readonly O[]>[] = [];
  for (let start = 0; start < items.length; start += maxInOneScript) {
    parts.push(ask(items.slice(start, start + maxInOneScript)));
  }
  return (await Promise.all(parts)).flat();
}

function only<T>([one]: readonly T[]): T {
  if (one === undefined) throw new Error('a script did not answer what it was asked');
  return one;
}

/** What admit.lua reads in read_terms. */
function termsOf({ limits, costKind, dayBase }: AdmitCheck, day: LocalDay): string {
  const { requestsPerMinute = '', tokensPerDay = '' } = limits;
  return `${requestsPerMinute} ${tokensPerDay} ${costKind === 'request_only' ? 0 : 1} ${dayBase(day) ?? ''}`;
}

const baseUnknown = 1;
const refused = 3;

/** Reads the answer to one check of many. */
function decisionAt(
  reply: readonly number[],
  index: number,
  { limits, costKind }: AdmitCheck,
  day: LocalDay,
): Decision | DayBaseUnknown {
  const kind = reply[5 * index + 1];
  if (kind === baseUnknown) return { kind: 'day_base_unknown', localDay: day };
  const facts = factsAt(reply, index, day);
  return kind === refused ? refusedWith(limits, costKind, facts) : admittedWith(limits, facts);
}

/** Reads {now, then of each: kind, entries, newest, freeing, used tokens}. */
function factsAt(reply: readonly number[], index: number, localDay: LocalDay): KeyFacts {
  const start = 5 * index + 1;
  const newestMs = entryMs(reply[start + 2]);
  return {
    // The window's time never goes back behind its newest entry.
    nowMs: Math.max(reply[0] ?? 0, newestMs ?? 0),
    localDay,
    requests: { count: reply[start + 1] ?? 0, newestMs, freeingMs: entryMs(reply[start + 3]) },
    usedTokens: reply[start + 4] ?? 0,
  };
}

function entryMs(replied = -1): number | undefined {
  return replied === -1 ? undefined : replied;
}

function limitTexts({ requestsPerMinute, tokensPerDay }: Limits): readonly string[] {
  return [requestsPerMinute?.toString() ?? '', tokensPerDay?.toString() ?? ''];
}
