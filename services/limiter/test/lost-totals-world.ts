import { budgetSpan, daySpan, type LimitStore, MemoryLimitStore } from '@gateway/limits';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { epochMs } from '@gateway/time';
import { ManualTime } from '@gateway/time/simulated';
import { Redis } from 'ioredis';
import { vi } from 'vitest';
import { readLimiterConfig } from '../src/config.ts';
import { createLimiterService, type LimiterPeers } from '../src/service.ts';
import { RedisLimitStore } from '../src/store/redis-limit-store.ts';
import { SharedLimitStore } from '../src/store/shared-limit-store.ts';
import { redisAt } from './redis-at.ts';
import { UsageLedger } from './usage-ledger.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const localDay = '2026-11-20';
export const limit = 100;

/** What counts, with the field of the request and the known total that names it. */
export const kinds = {
  'tokens of a token': {
    isMoney: false,
    terms: { limits: { tokensPerDay: limit } },
    known: { firstDay: localDay },
    counter: { key: 'token:1', span: daySpan(localDay) },
  },
  'tokens of a group': {
    isMoney: false,
    terms: { group: { key: 'group:g', limits: { tokensPerDay: limit } } },
    known: { ofGroup: true, firstDay: localDay },
    counter: { key: 'group:g', span: daySpan(localDay) },
  },
  'a budget of a day': budgetOf(BudgetPeriod.DAY, localDay),
  'a budget of a week': budgetOf(BudgetPeriod.WEEK, '2026-11-16'),
  'a budget of a month': budgetOf(BudgetPeriod.MONTH, '2026-11-01'),
} as const;

export type Kind = (typeof kinds)[keyof typeof kinds];

function budgetOf(period: BudgetPeriod, firstDay: string) {
  return {
    isMoney: true,
    terms: { group: { key: 'group:g', limits: { budget: { amountMicros: limit, period } } } },
    known: { ofGroup: true, period, firstDay },
    counter: { key: 'group:g', span: budgetSpan(period, localDay) },
  } as const;
}

/** A store that limiters share, and that loses its memory. */
interface LossyStore {
  connect(): LimitStore;
  forget(): Promise<unknown>;
}

/** In memory, only the test moves time. */
function lossyMemory(): LossyStore {
  let memory = new MemoryLimitStore({ maxKeys: 100 });
  const connected = new Proxy({} as LimitStore, {
    get: (_target, name: keyof MemoryLimitStore) => {
      const call = memory[name];
      return typeof call === 'function' ? call.bind(memory) : call;
    },
  });
  return {
    connect: () => connected,
    async forget() {
      memory = new MemoryLimitStore({ maxKeys: 100 });
    },
  };
}

function lossyRedis(stack: AsyncDisposableStack, url: string): LossyStore {
  const driver = stack.adopt(new Redis(url), (each) => each.disconnect());
  return {
    connect() {
      const runtime = { logger: createLogger('limiter', 'silent'), metrics: new Metrics() };
      return stack.use(new RedisLimitStore({ settings: redisAt(url), redisNowMs: epochMs, ...runtime }));
    },
    forget: () => driver.flushall(),
  };
}

export type LostTotals = Awaited<ReturnType<typeof openLostTotals>>;
export type LimiterOfMany = Awaited<ReturnType<LostTotals['startLimiter']>>;

/**
 * Limiters that share a store and a ledger, which learns at once of all that is used.
 * @param redisUrl a Redis of this test alone; without it, the store is in memory.
 */
export async function openLostTotals({ isMoney, terms, known, counter }: Kind, redisUrl: string | undefined) {
  const stack = new AsyncDisposableStack();
  if (redisUrl === undefined) {
    vi.useFakeTimers();
    stack.defer(() => void vi.useRealTimers());
  }
  const time = stack.use(new ManualTime(noonMs));
  const lossy = redisUrl === undefined ? lossyMemory() : lossyRedis(stack, redisUrl);
  await lossy.forget();
  const usage = new UsageLedger();
  const late: (() => void)[] = [];
  const ledger = { state: 'answers' as 'answers' | 'fails' | 'is silent', asked: 0 };
  const answer = async <T>(total: () => Promise<T>): Promise<T> => {
    ledger.asked += 1;
    if (ledger.state === 'fails') throw new Error('the ledger is away');
    if (ledger.state === 'is silent') await new Promise<void>((resolve) => late.push(resolve));
    return total();
  };
  const answerLate = () => {
    for (const each of late.splice(0)) each();
  };
  stack.defer(answerLate);
  const { getDayTotal, getGroupTotal } = usage.usageQuery;
  const usageQuery: NonNullable<LimiterPeers['usageQuery']> = {
    getDayTotal: (...asked) => answer(async () => getDayTotal(...asked)),
    getGroupTotal: (...asked) => answer(async () => getGroupTotal(...asked)),
  };
  const elapse = async (ms: number) => {
    if (redisUrl === undefined) await vi.advanceTimersByTimeAsync(ms);
    time.advanceMs(ms);
  };
  let count = 0;

  /** A limiter that knows nothing yet. */
  async function startLimiter() {
    const own = stack.use(new AsyncDisposableStack());
    const logger = createLogger('limiter', 'silent');
    const metrics = new Metrics();
    const store = own.use(new SharedLimitStore(lossy.connect(), { logger, metrics }));
    const service = own.use(
      createLimiterService(readLimiterConfig({}), { usageQuery }, { logger, metrics }, { store }),
    );
    await service.start();
    const limiter = directClientOf(service.routes, LimiterService);
    /** Asks for an edge that saw this total last. */
    const decide = async (seen?: number) => {
      const knownTotals = seen === undefined ? [] : [{ ...known, total: seen }];
      const asked = limiter.admit({ key: 'token:1', requestId: `r-${++count}`, ...terms, knownTotals });
      await elapse(600);
      return asked;
    };
    return {
      ...{ store, metrics, decide },
      ask: async (seen?: number) => (await decide(seen)).refusal,
      /** The total that an answer shows; undefined if it is unknown. */
      async shown(seen?: number) {
        const { status, groupStatus, refusal } = await decide(seen);
        const { tokens, budget } = groupStatus ?? status ?? {};
        const total = isMoney ? budget?.spentMicros : tokens && tokens.limit - tokens.remaining;
        return { refusal, total: total === undefined ? undefined : Number(total) };
      },
      async use(amount: number, requestId = `u-${++count}`) {
        usage.ingest(requestId, amount);
        const used = { tokens: amount, costMicros: amount };
        const settled = limiter.settle({ key: 'token:1', requestId, localDay, ...used, ...terms });
        await elapse(600);
        await settled;
      },
      async reserve() {
        const reservation = { key: 'token:1', requestId: 'r-1', localDay, costMicros: 1, ...terms };
        return (await limiter.reserve(reservation)).refusal;
      },
      stop: () => own.disposeAsync(),
    };
  }

  return {
    ...{ ledger, usage, time, elapse, startLimiter, answerLate, counter, forget: lossy.forget },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
