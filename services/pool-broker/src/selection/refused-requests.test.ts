import { AccountState, AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount } from '../__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../service.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';

const { REFUSED, FEATURE_UNAVAILABLE, SUCCEEDED, RATE_LIMITED, CANCELLED, UNAUTHORIZED } = AttemptResult;

/** Two replicas of the broker, of a pool with so many accounts. */
function brokersOf(count: number) {
  const time = new ManualTime(Date.parse('2026-11-20T12:00:00Z'));
  onTestFinished(() => time[Symbol.dispose]());
  const store = new MemoryPoolStore();
  const gateway = gatewayWith(Array.from({ length: count }, (_, n) => sampleAccount('responses', `a${n}`)));
  const replicas = [1, 2].map(() => {
    const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
    return directClient(createPoolBrokerService({ gateway }, runtime, { store }).routes[0]);
  });
  let asked = 0;
  const nextReplica = () => replicas[asked++ % 2] ?? expect.fail('there are two');

  /**
   * One request; `answerOf` says what each account answers. `most`: the client leaves after that.
   */
  async function request(answerOf: (accountId: string) => AttemptResult, most = Number.POSITIVE_INFINITY) {
    const attempts: { lease: Lease; report: { result: AttemptResult } }[] = [];
    for (;;) {
      const { result } = await nextReplica().acquire({ model: 'gateway/sterk', attempts });
      if (result.case !== 'lease') return { tried: attempts.map(({ lease }) => lease.accountId), end: result.case };
      const answer = attempts.length < most ? answerOf(result.value.accountId) : CANCELLED;
      const attempt = { lease: result.value, report: { result: answer } };
      if (answer === SUCCEEDED || answer === CANCELLED) {
        await nextReplica().report({ attempt });
        return { tried: [...attempts, attempt].map(({ lease }) => lease.accountId), end: answer };
      }
      attempts.push(attempt);
    }
  }

  const accounts = async () => (await nextReplica().listAccounts({})).accounts;
  return { time, request, accounts };
}

/** What a client's own request can make an account answer. */
const refusal = fc.constantFrom(REFUSED, FEATURE_UNAVAILABLE);

/**
 * What happens in a pool: someone's request is refused by some accounts, others are served, time
 * passes.
 */
const event = fc.oneof(
  fc.record({ refusals: fc.array(refusal, { minLength: 1, maxLength: 6 }), most: fc.integer({ min: 1, max: 7 }) }),
  fc.record({ servedTimes: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ passedMs: fc.integer({ min: 1, max: 700_000 }) }),
);

describe('requests that the provider refuses', () => {
  it('take no account from other requests, whatever they choose, however often, and whenever their client leaves', async () => {
    const histories = fc.array(event, { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), histories, async (count, events) => {
        const { time, request, accounts } = brokersOf(count);
        for (const each of events) {
          if ('passedMs' in each) time.advanceMs(each.passedMs);
          for (let n = 0; 'servedTimes' in each && n < each.servedTimes; n++) await request(() => SUCCEEDED);
          if ('refusals' in each) {
            let at = 0;
            const { tried } = await request(() => each.refusals[at++ % each.refusals.length] ?? REFUSED, each.most);
            expect(new Set(tried).size).toBe(tried.length);
          }
          expect(await request(() => SUCCEEDED)).toMatchObject({ tried: [expect.any(String)], end: SUCCEEDED });
          for (const { state, cooldowns } of await accounts()) {
            expect([state, cooldowns]).toEqual([AccountState.AVAILABLE, []]);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('do not keep an account paused that is back: the next request probes', async () => {
    const { time, request } = brokersOf(1);
    await request(() => UNAUTHORIZED);
    expect((await request(() => SUCCEEDED)).end).toBe('unavailable');
    time.advanceMs(20 * 60_000);
    expect((await request(() => REFUSED)).end).toBe('unavailable');
    expect((await request(() => SUCCEEDED)).end).toBe(SUCCEEDED);
  });

  it('are tried at three accounts, and at more as a budget allows', async () => {
    const accounts = 12;
    const { request, time } = brokersOf(accounts);
    expect((await request(() => REFUSED)).tried).toHaveLength(accounts);
    let attempts = 0;
    for (let n = 0; n < 100; n++) attempts += (await request(() => REFUSED)).tried.length;
    // Two replicas, each with a floor of 100 in ten seconds.
    expect(attempts).toBeLessThanOrEqual(3 * 100 + 2 * 100);
    time.advanceMs(60_000);
    expect((await request(() => REFUSED)).tried).toHaveLength(accounts);
  });
});

describe('an account that refuses everything, for a cause that is unclear', () => {
  it('is asked rarely while another account serves, and at once when none does', async () => {
    const { time, request } = brokersOf(5);
    let asked = 0;
    const answerOf = (accountId: string) => (accountId === 'responses/a0' ? REFUSED : SUCCEEDED);
    for (let second = 0; second < 600; second++) {
      const { tried, end } = await request(answerOf);
      expect(end).toBe(SUCCEEDED);
      if (tried.includes('responses/a0')) asked += 1;
      time.advanceMs(1_000);
    }
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(6);
    const onlyThat = await request((accountId) => (accountId === 'responses/a0' ? SUCCEEDED : RATE_LIMITED));
    expect(onlyThat).toMatchObject({ end: SUCCEEDED, tried: expect.arrayContaining(['responses/a0']) });
  });
});

describe('accounts that are all limited', () => {
  it('pause, although they answer one request alike', async () => {
    const { request } = brokersOf(3);
    expect(await request(() => RATE_LIMITED)).toMatchObject({ end: 'exhausted' });
    expect(await request(() => SUCCEEDED)).toMatchObject({ end: 'exhausted', tried: [] });
  });
});
