import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { beforeEach, describe, expect, it } from 'vitest';
import { gatewayWith, sampleAccount } from '../__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../service.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';

describe('an answer to Acquire', () => {
  const accounts = [
    sampleAccount('responses', 'a'),
    sampleAccount('responses', 'b', { maxConcurrency: 4 }),
    sampleAccount('responses', 'off', { state: 'disabled' }),
    sampleAccount('messages', 'c'),
  ];
  let broker: ReturnType<typeof openBroker>;
  beforeEach(() => {
    const time = new ManualTime(Date.parse('2026-11-20T12:00:00Z'));
    broker = openBroker();
    return () => time[Symbol.dispose]();
  });
  function openBroker(more: typeof accounts = []) {
    return openOnly([...accounts, ...more]);
  }
  function openOnly(configured: typeof accounts) {
    const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
    const parts = { store: new MemoryPoolStore(), random: () => 0 };
    return directClient(createPoolBrokerService({ gateway: gatewayWith(configured) }, runtime, parts).routes[0]);
  }

  const acquire = (affinityKey = '', attempts: readonly { lease: Lease; report: object }[] = []) =>
    broker.acquire({ model: 'gateway/sterk', affinityKey, attempts: [...attempts], allowCandidateFailover: true });
  const leaseOf = ({ result }: Awaited<ReturnType<typeof acquire>>) =>
    result.case === 'lease' ? result.value : expect.fail('there is no lease');
  const limited = (lease: Lease) => ({
    lease,
    report: { result: AttemptResult.RATE_LIMITED, retryAfterMs: 60_000 },
  });

  it('says why it is this account', async () => {
    expect((await acquire()).reason).toBe('because no account has more spare capacity');
    const first = await acquire('session');
    expect(first.reason).toBe("because its session's key prefers it");
    await broker.report({
      affinityKey: 'session',
      attempt: { lease: leaseOf(first), report: { result: AttemptResult.SUCCEEDED } },
    });
    expect((await acquire('session')).reason).toBe('because its session is bound to it');
  });

  it('says how many accounts could not serve the request, and why, of each candidate up to the leased one', async () => {
    const disabled = { pool: 'responses', reason: 'disabled in the configuration', count: 1 };
    const first = await acquire();
    expect(first.skipped).toMatchObject([disabled]);
    const second = await acquire('', [limited(leaseOf(first))]);
    const cooling = (count: number) => ({
      pool: 'responses',
      reason: 'cooling after 429 (reset named by the provider)',
      count,
    });
    expect(second.reason).toBe('as the only eligible account');
    expect(second.skipped).toMatchObject([cooling(1), disabled]);
    const third = await acquire('', [limited(leaseOf(first)), limited(leaseOf(second))]);
    expect(leaseOf(third).pool).toBe('messages');
    expect(third.skipped).toMatchObject([cooling(2), disabled]);
    const none = await acquire(
      '',
      [first, second, third].map((answer) => limited(leaseOf(answer))),
    );
    expect(none).toMatchObject({ result: { case: 'exhausted' }, reason: '' });
    expect(none.skipped.map(({ pool, count }) => [pool, count])).toEqual([
      ['responses', 2],
      ['responses', 1],
      ['messages', 1],
    ]);
  });

  it('names at most three skipped accounts of a kind, and none of them in a reason', async () => {
    const first = await acquire();
    const { reason, skipped } = await acquire('', [limited(leaseOf(first))]);
    expect(JSON.stringify([reason, skipped.map((group) => group.reason)])).not.toContain(leaseOf(first).accountId);
    expect(skipped.map(({ names }) => names)).toEqual([['a'], ['off']]);
    broker = openBroker(
      ['off-2', 'off-3', 'off-4'].map((name) => sampleAccount('responses', name, { state: 'disabled' })),
    );
    expect((await acquire()).skipped).toMatchObject([{ count: 4, names: ['off', 'off-2', 'off-3'] }]);
  });

  it('says why the provider of a skipped account did not answer, to later requests too', async () => {
    broker = openOnly([sampleAccount('responses', 'one')]);
    const report = { result: AttemptResult.TIMEOUT, cause: 'no connection to 127.0.0.1:9 in time' };
    let answer = await acquire();
    for (let errors = 0; answer.result.case === 'lease' && errors < 10; errors += 1) {
      await broker.report({ attempt: { lease: leaseOf(answer), report } });
      answer = await acquire();
    }
    expect(answer).toMatchObject({
      result: { case: 'unavailable' },
      skipped: [{ reason: `cooling after timeouts: ${report.cause}`, names: ['one'] }],
    });
  });

  it('does not name the leased account as skipped, if it was asked in spite of a reason to skip it', async () => {
    broker = openOnly([sampleAccount('responses', 'one'), sampleAccount('responses', 'off', { state: 'disabled' })]);
    const report = { result: AttemptResult.MODEL_UNAVAILABLE };
    await broker.report({ attempt: { lease: leaseOf(await acquire()), report } });
    const again = await acquire();
    expect(again.reason).toBe('although no account is known to support what the request needs');
    expect(leaseOf(again).accountId).toBe('responses/one');
    expect(again.skipped.map(({ names }) => names)).toEqual([['off']]);
  });

  it('says that accounts are busy, not only limited', async () => {
    broker = openOnly([sampleAccount('responses', 'one', { maxConcurrency: 1 })]);
    await acquire();
    expect(await acquire()).toMatchObject({
      result: { case: 'exhausted' },
      reason: 'all eligible accounts are at their maximum of concurrent requests',
    });
    const two = [sampleAccount('responses', 'one', { maxConcurrency: 1 }), sampleAccount('responses', 'two')];
    broker = openOnly(two);
    const answers = [await acquire(), await acquire()];
    const attempt = answers.map(leaseOf).find(({ accountId }) => accountId === 'responses/two');
    expect(await acquire('', attempt && [limited(attempt)])).toMatchObject({
      result: { case: 'exhausted' },
      reason: 'all eligible accounts are rate limited, busy, or reserved for other callers',
    });
  });

  it('says when a request has spent its attempts, though accounts are left', async () => {
    broker = openBroker([sampleAccount('messages', 'd')]);
    const attempts: { lease: Lease; report: object }[] = [];
    for (;;) {
      const answer = await acquire('', attempts);
      if (answer.result.case !== 'lease') {
        expect(answer).toMatchObject({ result: { case: 'unavailable' }, reason: expect.stringContaining('spent') });
        return;
      }
      attempts.push({ lease: answer.result.value, report: { result: AttemptResult.SERVER_ERROR } });
    }
  });
});

describe('an account as operators see it', () => {
  it('has its cap', async () => {
    const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
    const gateway = gatewayWith([
      sampleAccount('responses', 'capped', { maxConcurrency: 4 }),
      sampleAccount('responses', 'free'),
    ]);
    const service = createPoolBrokerService({ gateway }, runtime, { store: new MemoryPoolStore() });
    const { accounts } = await directClient(service.routes[0]).listAccounts({});
    expect(accounts.map(({ maxInFlight }) => maxInFlight)).toEqual([4, 0]);
  });
});
