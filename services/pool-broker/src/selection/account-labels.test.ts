import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount } from '../__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../service.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';

type Sampled = ReturnType<typeof sampleAccount>;

function open(accounts: readonly Sampled[]) {
  const time = new ManualTime(Date.parse('2026-11-20T12:00:00Z'));
  onTestFinished(() => time[Symbol.dispose]());
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const parts = { store: new MemoryPoolStore() };
  const { routes } = createPoolBrokerService({ gateway: gatewayWith(accounts) }, runtime, parts);
  return { time, broker: directClient(routes[0]) };
}

const setsOf = (labels: readonly (readonly string[])[]) => labels.map((set) => ({ labels: [...set] }));

describe('accounts with labels', () => {
  it('are the only ones for a request that is restricted to one of their labels', async () => {
    const { broker } = open([
      sampleAccount('responses', 'a'),
      sampleAccount('responses', 'b', { labels: ['eu', 'team-b'] }),
      sampleAccount('messages', 'c', { labels: ['us'] }),
    ]);
    const leased = async (sets: readonly (readonly string[])[]) => {
      const { result } = await broker.acquire({ model: 'gateway/sterk', accountLabels: setsOf(sets) });
      return result.case === 'lease' ? result.value.accountId : result.case;
    };
    expect(await leased([['eu']])).toBe('responses/b');
    expect(await leased([['us', 'team-b']])).toBe('responses/b');
    expect(await leased([['eu'], ['team-b']])).toBe('responses/b');
    expect(await leased([['us']])).toBe('messages/c');
    // Two restrictions that no account satisfies together.
    expect(await leased([['eu'], ['us']])).toBe('unknownModel');
    expect(await leased([['other']])).toBe('unknownModel');
    // A set without labels restricts nothing.
    expect(await leased([[]])).not.toBe('unknownModel');
  });

  it('answer only with models that have a price, where a request asks for that', async () => {
    const gateway = gatewayWith([sampleAccount('responses', 'a'), sampleAccount('messages', 'b')]);
    const { candidates = [] } = gateway.classes.find(({ id }) => id === 'gateway/sterk') ?? {};
    const priced = candidates.at(-1)?.model ?? expect.fail();
    const fromDay = '2026-11-20';
    const rates = {
      inputMicros: 1,
      cachedInputMicros: 1,
      cacheWrite5mMicros: 1,
      cacheWrite1hMicros: 1,
      outputMicros: 1,
    };
    const served = { serviceTier: '', speed: '', geography: '', toolFees: [] };
    const prices = { currency: 'EUR', models: [{ model: priced, fromDay, ...rates, ...served }] };
    const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
    using _time = new ManualTime(Date.parse('2026-11-20T12:00:00Z'));
    const parts = { store: new MemoryPoolStore() };
    const { routes } = createPoolBrokerService({ gateway: { ...gateway, prices } }, runtime, parts);
    const leased = async (pricedOnDay: string, model = 'gateway/sterk') => {
      const { result } = await directClient(routes[0]).acquire({ model, pricedOnDay, allowCandidateFailover: true });
      return result.case === 'lease' ? result.value.model : result;
    };
    expect(await leased('')).toBe(candidates[0]?.model);
    expect(await leased('2026-11-20')).toBe(priced);
    const none = { case: 'unknownModel', value: { unpriced: true } };
    expect(await leased('2026-11-19')).toMatchObject(none);
    expect(await leased('2026-11-20', candidates[0]?.model)).toMatchObject(none);
  });

  it('are found in the pool that has them, if several pools offer a model', async () => {
    const gateway = gatewayWith([sampleAccount('responses', 'a'), sampleAccount('other', 'b', { labels: ['eu'] })]);
    const [first = expect.fail()] = gateway.pools;
    const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
    const pools = [...gateway.pools, { ...first, name: 'other' }];
    const parts = { store: new MemoryPoolStore() };
    const { routes } = createPoolBrokerService({ gateway: { ...gateway, pools } }, runtime, parts);
    const broker = directClient(routes[0]);
    for (const pool of ['responses', 'other']) {
      await broker.reportModels({ pool, reachable: true, models: [{ id: 'gpt-5.5' }] });
    }
    const { result } = await broker.acquire({ model: 'gpt-5.5', accountLabels: setsOf([['eu']]) });
    expect(result).toMatchObject({ case: 'lease', value: { accountId: 'other/b' } });
    const { models } = await broker.listModels({});
    const servedBy = models.find(({ id }) => id === 'gpt-5.5')?.servedBy.map(({ labels }) => labels);
    expect(servedBy).toEqual([[], ['eu']]);
  });

  it('must also be allowed to serve the model', async () => {
    const { broker } = open([
      sampleAccount('responses', 'a', { labels: ['eu'], models: ['gpt-4*'] }),
      sampleAccount('responses', 'b'),
    ]);
    await broker.reportModels({ pool: 'responses', reachable: true, models: [{ id: 'gpt-5.5' }, { id: 'gpt-4.1' }] });
    const caseOf = async (model: string) =>
      (await broker.acquire({ model, accountLabels: setsOf([['eu']]) })).result.case;
    expect([await caseOf('gpt-4.1'), await caseOf('gpt-5.5')]).toEqual(['lease', 'unknownModel']);
    const { models } = await broker.listModels({});
    const served = models.map(({ id, servedBy }) => [id, servedBy.map(({ labels }) => labels.join())]);
    expect(served.filter(([id]) => `${id}`.startsWith('gpt-'))).toEqual([
      ['gpt-5.5', ['']],
      ['gpt-4.1', ['eu', '']],
    ]);
  });
});

const labels = fc.subarray(['x', 'y', 'z'], { minLength: 0 });
const pools = fc.constantFrom('responses', 'messages');
const states = fc.constantFrom('active', 'active', 'active', 'draining', 'disabled');
const accounts = fc.uniqueArray(
  fc.record({ pool: pools, name: fc.stringMatching(/^[a-z]{1,3}$/), labels, state: states }),
  { minLength: 1, maxLength: 24, selector: ({ pool, name }) => `${pool}/${name}` },
);
const results = fc.constantFrom(
  AttemptResult.SUCCEEDED,
  AttemptResult.RATE_LIMITED,
  AttemptResult.SERVER_ERROR,
  AttemptResult.UNAUTHORIZED,
  AttemptResult.MODEL_UNAVAILABLE,
  AttemptResult.TIMEOUT,
);
const requests = fc.array(
  fc.record({
    sets: fc.array(fc.subarray(['x', 'y', 'z'], { minLength: 1 }), { maxLength: 2 }),
    session: fc.constantFrom('', 'one', 'two'),
    results: fc.array(results, { minLength: 1, maxLength: 4 }),
    pauseMs: fc.constantFrom(0, 1_000, 90_000),
  }),
  { minLength: 1, maxLength: 12 },
);

it('No choice, failover, session, probe, skipped account or explanation leaves the labels of a request', async () => {
  await fc.assert(
    fc.asyncProperty(accounts, requests, async (configured, asked) => {
      const { broker, time } = open(configured.map(({ pool, name, ...rest }) => sampleAccount(pool, name, rest)));
      const byId = new Map(configured.map((account) => [`${account.pool}/${account.name}`, account.labels]));
      for (const { sets, session, results: planned, pauseMs } of asked) {
        time.advanceMs(pauseMs);
        const isAllowed = (id: string) =>
          sets.every((set) => set.some((label) => (byId.get(id) as readonly string[] | undefined)?.includes(label)));
        const restriction = { model: 'gateway/sterk', accountLabels: setsOf(sets) };
        const attempts: { lease: Lease; report: object }[] = [];
        for (const result of planned) {
          const answer = await broker.acquire({
            ...restriction,
            affinityKey: session,
            attempts: [...attempts],
            allowCandidateFailover: true,
          });
          for (const { pool, names } of answer.skipped) {
            for (const name of names) expect(isAllowed(`${pool}/${name}`), `skipped ${pool}/${name}`).toBe(true);
          }
          if (answer.result.case !== 'lease') break;
          expect(isAllowed(answer.result.value.accountId), `leased ${answer.result.value.accountId}`).toBe(true);
          const report = { result, retryAfterMs: 60_000 };
          const attempt = { lease: answer.result.value, report };
          if (result === AttemptResult.SUCCEEDED) {
            await broker.report({ affinityKey: session, attempt });
            break;
          }
          attempts.push(attempt);
        }
        const { candidates } = await broker.explain({ ...restriction, affinityKey: session });
        for (const { account } of candidates.flatMap((candidate) => candidate.accounts)) {
          expect(isAllowed(account?.id ?? ''), `explained ${account?.id}`).toBe(true);
        }
      }
    }),
    { numRuns: 300 },
  );
});
