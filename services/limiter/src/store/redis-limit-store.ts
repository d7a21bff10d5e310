import { randomUUID } from 'node:crypto';
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
  beginReconciliation: readRedisScript('begin-reconciliation.lua'),
  finishReconciliation: readRedisScript('finish-reconciliation.lua'),
};

/**
 * Windows and counters that all limiters share: one script per verb, on Redis' clock.
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
    const { requestId, limits, costKind } = check;
    const answer = await this.#ask(scripts.admit, check, [
      requestId,
      ...limitTexts(limits),
      costKind === 'request_only' ? '0' : '1',
    ]);
    if (answer.kind === 'day_base_unknown') return answer;
    return answer.kind === 'refused' ? refusedWith(limits, costKind, answer.facts) : admittedWith(limits, answer.facts);
  }

  async peek(question: KeyQuestion): ReturnType<LimitStore['peek']> {
    const answer = await this.#ask(scripts.peek, question, limitTexts(question.limits));
    if (answer.kind === 'day_base_unknown') return answer;
    return { kind: 'status', status: statusOf(question.limits, answer.facts) };
  }

  async settle({ key, requestId, localDay, tokens, dayBase }: Settlement): Promise<DayTotal> {
    const [usedTokens = 0, baseKnown] = await this.#run(
      scripts.settle,
      [dayKey(key, localDay), pendingKey(key, localDay), toldKey(key, localDay)],
      [requestId, tokens, dayForgottenAtMs(localDay), dayBase(localDay) ?? '', this.#maxPendingIds],
    );
    return { usedTokens, baseKnown: baseKnown === 1 };
  }

  async recordAdmissions(key: string, admissions: readonly RecordedAdmission[]): Promise<void> {
    const texts = admissions.flatMap(({ requestId, ageMs }) => [requestId, ageMs]);
    await this.#redis.run(scripts.recordAdmissions, [windowKey(key)], [this.#testTime(), ...texts]);
  }

  async rememberDayBase(key: string, day: LocalDay, tokens: number): Promise<number> {
    const [usedTokens = tokens] = await this.#run(
      scripts.rememberDayBase,
      [dayKey(key, day)],
      [tokens, dayForgottenAtMs(day)],
    );
    return usedTokens;
  }

  async beginReconciliation(...[key, day, { pauseMs, force }]: Parameters<LimitStore['beginReconciliation']>) {
    const ticket = randomUUID();
    const reply = await this.#redis.run(
      scripts.beginReconciliation,
      [pendingKey(key, day), ticketKey(key, day)],
      [ticket, Math.max(1, pauseMs), force ? '1' : ''],
    );
    return reply === null ? undefined : { ticket, pendingIds: readTexts(reply) };
  }

  async finishReconciliation(
    ...[key, day, ticket, { totalTokens, includedIds, force }]: Parameters<LimitStore['finishReconciliation']>
  ): Promise<ReconciledDay | undefined> {
    const reply = await this.#redis.run(
      scripts.finishReconciliation,
      [dayKey(key, day), pendingKey(key, day), toldKey(key, day), ticketKey(key, day)],
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

  async #ask(script: RedisScript, question: KeyQuestion, parameters: readonly string[]): Promise<OfTheDay> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const span = daySpanAt(this.#clock.nowMs() + this.#aheadMs);
      const keys = [windowKey(question.key), dayKey(question.key, span.day)];
      const base = question.dayBase(span.day) ?? '';
      const reply = await this.#run(script, keys, [...parameters, span.startMs, span.endMs, base]);
      const answer = readAnswer(reply, span);
      if (answer.kind !== 'another_day') return answer;
      this.#aheadMs = answer.nowMs - this.#clock.nowMs();
    }
    throw new Error("Redis' clock jumps: the local day can't be told");
  }

  async #run(script: RedisScript, keys: readonly string[], parameters: readonly (string | number)[]) {
    const reply = await this.#redis.run(script, keys, [...parameters, this.#testTime()]);
    return readNumbers(reply);
  }

  #testTime(): number | '' {
    return this.#redisClock?.nowMs() ?? '';
  }
}

type OfTheDay = DayBaseUnknown | { readonly kind: 'admitted' | 'refused'; readonly facts: KeyFacts };
type Answer = OfTheDay | { readonly kind: 'another_day'; readonly nowMs: number };

/** Reads {kind, now, entries, newest, blocking, used tokens}. */
function readAnswer(reply: readonly number[], { day }: DaySpan): Answer {
  const [kind, nowMs = 0, count = 0, newest = -1, blocking = -1, usedTokens = 0] = reply;
  if (kind === 0) return { kind: 'another_day', nowMs };
  if (kind === 1) return { kind: 'day_base_unknown', localDay: day };
  const requests = { count, newestMs: entryMs(newest), blockingMs: entryMs(blocking) };
  return { kind: kind === 3 ? 'refused' : 'admitted', facts: { nowMs, localDay: day, requests, usedTokens } };
}

function entryMs(replied: number): number | undefined {
  return replied === -1 ? undefined : replied;
}

function readNumbers(reply: unknown): readonly number[] {
  if (Array.isArray(reply) && reply.every((value): value is number => typeof value === 'number')) return reply;
  throw new Error('a script answered something else than numbers');
}

function readTexts(reply: unknown): readonly string[] {
  if (Array.isArray(reply) && reply.every((value): value is string => typeof value === 'string')) return reply;
  throw new Error('a script answered something else than texts');
}

/** Written to see whether Redis takes anything; belongs to no limited key. */
const probeKey = 'rl:probe';

function limitTexts({ requestsPerMinute, tokensPerDay }: Limits): readonly string[] {
  return [requestsPerMinute?.toString() ?? '', tokensPerDay?.toString() ?? ''];
}

function windowKey(key: string): string {
  return `rl:{${hashTag(key)}}:m`;
}

function dayKey(key: string, day: LocalDay): string {
  return `rl:{${hashTag(key)}}:d:${day}`;
}

function pendingKey(key: string, day: LocalDay): string {
  return `${dayKey(key, day)}:pending`;
}

function toldKey(key: string, day: LocalDay): string {
  return `${dayKey(key, day)}:told`;
}

function ticketKey(key: string, day: LocalDay): string {
  return `${dayKey(key, day)}:ticket`;
}

/** All keys of one limited key lie in one slot of a cluster: braces in it would end the tag early. */
function hashTag(key: string): string {
  return key.replace(/[%{}]/g, encodeURIComponent);
}
