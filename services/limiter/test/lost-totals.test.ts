import { LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { startRedis, type TestServer } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { kinds, type LostTotals, limit, openLostTotals } from './lost-totals-world.ts';

const isLong = process.env.FAULTS === 'long';

const soon = { timeout: roomMs(8_000), interval: 50 };

let redis: TestServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

const cases = Object.entries(kinds).flatMap(([name, kind]) =>
  (['memory', 'Redis'] as const).map((store) => ({ name, kind, store })),
);

describe.each(cases)('$name that a store in $store has lost', ({ kind, store }) => {
  const { isMoney } = kind;
  const open = () => openLostTotals(kind, store === 'Redis' ? redis.url : undefined);
  let world: LostTotals;
  beforeEach(async () => {
    world = await open();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const spent = { retryAfterMs: expect.toSatisfy((ms: number) => ms > 60_000) };
  /** Money that no one knows is refused for a moment; tokens are counted from zero. */
  const unknown = isMoney ? { limit: LimitName.BUDGET, retryAfterMs: 3_000 } : undefined;
  const loseAll = async (state: 'fails' | 'is silent' = 'fails') => {
    world.ledger.state = state;
    await world.forget();
  };
  const answerAgain = async () => {
    world.ledger.state = 'answers';
    world.answerLate();
    await world.elapse(1_000);
  };

  it('has what was left of it where the edge saw that, with what is used since', async () => {
    const { ask, use } = await world.startLimiter();
    await ask();
    await use(60);
    await loseAll();
    await use(30);
    expect(await ask(60)).toBeUndefined();
    await use(10);
    expect(await ask(60)).toMatchObject(spent);
  });

  it('is spent where the edge saw it spent', async () => {
    world.ledger.state = 'fails';
    const { ask } = await world.startLimiter();
    expect(await ask(limit)).toMatchObject(spent);
    expect(await ask()).toMatchObject(spent);
  });

  it('continues from what the edge saw where that is more than the edge before saw', async () => {
    const { ask, use } = await world.startLimiter();
    await ask();
    await use(40);
    await loseAll();
    expect(await ask(40)).toBeUndefined();
    expect(await ask(limit)).toMatchObject(spent);
    expect(await ask(60)).toMatchObject(spent);
  });

  it(isMoney ? 'refuses, shortly, where no one saw it' : 'counts from zero where no one saw it', async () => {
    world.usage.ingest('before', 100);
    world.ledger.state = 'fails';
    const { ask, metrics } = await world.startLimiter();
    const refusal = await ask();
    const continued = isMoney ? 'refused' : 'from_zero';
    expect(await metrics.exposition()).toContain(`missing_totals_total{continued="${continued}"} 1`);
    if (unknown === undefined) expect(refusal).toBeUndefined();
    else expect(refusal).toMatchObject(unknown);
    // The first question after the ledger is back has its total.
    world.ledger.state = 'answers';
    world.time.advanceMs(3_000);
    expect(await ask()).toMatchObject(spent);
  });

  it('is what the ledger says late, asked once for all who wait', async () => {
    world.usage.ingest('before', 100);
    world.ledger.state = 'is silent';
    const { ask } = await world.startLimiter();
    await Promise.all([ask(), ask(), ask()]);
    expect(world.ledger.asked).toBe(1);
    world.ledger.state = 'answers';
    world.answerLate();
    await expect.poll(() => ask(), soon).toMatchObject(spent);
  });

  it('is raised to what an edge saw when the store comes back as an older copy', async () => {
    const { ask, store } = await world.startLimiter();
    await ask();
    world.ledger.state = 'fails';
    await world.forget();
    await store.raise([{ counter: world.counter, total: 40 }]);
    store.noteReconnected();
    expect(await ask(limit)).toMatchObject(spent);
    expect(await ask(40)).toMatchObject(spent);
  });

  it('is corrected by the ledger where what an edge saw was too much', async () => {
    world.ledger.state = 'fails';
    const { ask, shown } = await world.startLimiter();
    expect(await ask(limit)).toMatchObject(spent);
    world.usage.ingest('before', 20);
    await answerAgain();
    expect(await shown()).toEqual({ refusal: undefined, total: 20 });
  });

  it('is not reserved from either', async () => {
    if (unknown === undefined) return;
    const { ask, reserve } = await world.startLimiter();
    await ask();
    await world.forget();
    expect(await reserve()).toMatchObject(unknown);
  });

  describe('and that several limiters count', () => {
    it('continues from the highest that edges saw, whichever limiter they ask first', async () => {
      const [one, other] = [await world.startLimiter(), await world.startLimiter()];
      await one.ask();
      await one.use(100);
      for (const [first, second] of [
        [one, other],
        [other, one],
      ] as const) {
        await loseAll();
        expect(await first.shown(40)).toEqual({ refusal: undefined, total: 40 });
        expect(await second.ask(limit)).toMatchObject(spent);
        expect(await first.ask(40)).toMatchObject(spent);
        await answerAgain();
        expect(await first.shown()).toMatchObject({ refusal: spent, total: 100 });
      }
    });

    it('is what the store still has, or an edge saw, when all of them have started anew', async () => {
      const old = [await world.startLimiter(), await world.startLimiter()];
      await old[0]?.ask();
      await old[0]?.use(100);
      world.ledger.state = 'is silent';
      for (const { stop } of old) await stop();
      const fresh = [await world.startLimiter(), await world.startLimiter()];
      for (const { ask } of fresh) expect(await ask()).toMatchObject(spent);
      for (const { stop } of fresh) await stop();
      await world.forget();
      const [first, second] = [await world.startLimiter(), await world.startLimiter()];
      if (unknown !== undefined) expect(await first.ask()).toMatchObject(unknown);
      expect(await first.ask(limit)).toMatchObject(spent);
      expect(await second.ask()).toMatchObject(spent);
    });
  });
});

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ verb: fc.constant('ask'), limiter: fc.nat(1), edge: fc.nat(2) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ verb: fc.constant('use'), limiter: fc.nat(1), amount: fc.integer({ min: 1, max: 50 }) }),
  },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('forget') }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('ledger'), answers: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('restart'), limiter: fc.nat(1) }) },
);
const plan = fc.record({
  kind: fc.constantFrom(...Object.values(kinds)),
  steps: fc.array(step, { minLength: 1, maxLength: 30, size: 'max' }),
});

/** Runs a plan, and compares each answer with what its edge saw last. */
async function holds({ kind, steps }: typeof plan extends fc.Arbitrary<infer P> ? P : never, redisUrl?: string) {
  await using world = await openLostTotals(kind, redisUrl);
  const limiters = [await world.startLimiter(), await world.startLimiter()];
  const seen = new Map<number, number>();
  for (const one of steps) {
    if (one.verb === 'forget') await world.forget();
    if (one.verb === 'ledger') {
      world.ledger.state = one.answers ? 'answers' : 'fails';
      await world.elapse(1_000);
    }
    if (one.verb === 'use') await limiters[one.limiter]?.use(one.amount);
    if (one.verb === 'restart') {
      await limiters[one.limiter]?.stop();
      limiters[one.limiter] = await world.startLimiter();
    }
    if (one.verb !== 'ask') continue;
    const highest = seen.get(one.edge) ?? -1;
    const answered = await limiters[one.limiter]?.shown(seen.get(one.edge));
    const { refusal, total } = answered ?? expect.fail('there are two');
    if (world.ledger.state === 'answers') {
      expect(total).toBe(kind.isMoney ? world.usage.total : Math.min(100, world.usage.total));
    } else if (highest >= 0) expect(total).toBeGreaterThanOrEqual(highest);
    if (total === undefined) expect(refusal).toMatchObject({ limit: LimitName.BUDGET, retryAfterMs: 3_000 });
    else {
      expect(total).toBeLessThanOrEqual(world.usage.total);
      expect(refusal === undefined).toBe(total < 100);
      seen.set(one.edge, total);
    }
  }
}

describe('nothing is admitted beyond the highest total that the asking edge saw', () => {
  it('when the store in memory loses what it had, any number of times', async () => {
    await fc.assert(
      fc.asyncProperty(plan, (one) => holds(one)),
      { numRuns: isLong ? 2_000 : 200 },
    );
  });

  it('when Redis does', async () => {
    await fc.assert(
      fc.asyncProperty(plan, (one) => holds(one, redis.url)),
      { numRuns: isLong ? 300 : 20 },
    );
  });
});
