import type { GatewayConfig } from '@gateway/config';
import {
  AccountProblem,
  AccountState,
  AccountUse,
  AttemptResult,
  type Lease,
  ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import { Lack } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount, sampleGateway } from './__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from './service.ts';
import { MemoryPoolStore } from './store/memory-pool-store.ts';

const startMs = Date.parse('2026-11-20T12:00:00Z');

interface Question {
  readonly model?: string;
  readonly formats?: ProviderFormat[];
  readonly affinityKey?: string;
  readonly failover?: boolean;
}

interface Failure {
  readonly result: AttemptResult;
  readonly problem?: AccountProblem;
  readonly retryInMs?: number | undefined;
  readonly modelScoped?: boolean;
}

function brokerOf(gateway: GatewayConfig = sampleGateway) {
  const time = new ManualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const metrics = new Metrics();
  const service = createPoolBrokerService(
    { gateway },
    { logger: createLogger('test', 'silent'), metrics },
    { store: new MemoryPoolStore(), random: () => 0 },
  );
  const [[poolRoute, operatorRoute], [credentialRoute]] = [service.routes, service.credentialRoutes];
  const [pools, operator] = [directClient(poolRoute), directClient(operatorRoute)];

  const attemptOf = (lease: Lease, { result, retryInMs, modelScoped = false, problem }: Failure) => ({
    lease,
    report: {
      result,
      modelScoped,
      ...(problem !== undefined && { problem }),
      retryAfterMs: retryInMs,
    },
  });

  /**
   * A request to accounts that give these answers, one after the other; the first account without
   * an answer serves it.
   */
  async function request(question: Question, answers: readonly Failure[] = []) {
    const { model = 'gateway/sterk', formats = [], affinityKey = '', failover = true } = question;
    const attempts: ReturnType<typeof attemptOf>[] = [];
    for (let n = 0; ; n++) {
      const { result } = await pools.acquire({
        model,
        formats,
        affinityKey,
        attempts,
        allowCandidateFailover: failover,
      });
      const tried = attempts.map(({ lease }) => lease.accountId);
      if (result.case !== 'lease') return { tried, end: result, lease: undefined };
      const answer = answers[n];
      if (answer === undefined) return { tried, end: result, lease: result.value };
      attempts.push(attemptOf(result.value, answer));
    }
  }

  async function finish(lease: Lease | undefined, failure: Failure, affinityKey = '') {
    if (lease === undefined) throw new Error('there is no lease to finish');
    await pools.report({ attempt: attemptOf(lease, failure), affinityKey });
  }

  const accounts = async () => (await pools.listAccounts({})).accounts;
  return {
    time,
    metrics,
    service,
    pools,
    operator,
    credentials: directClient(credentialRoute),
    request,
    finish,
    accounts,
  };
}

const succeeded = { result: AttemptResult.SUCCEEDED };
const limited = (retryInMs?: number) => ({ result: AttemptResult.RATE_LIMITED, retryInMs });
const broken = { result: AttemptResult.SERVER_ERROR };

describe('acquiring an account', () => {
  it('gives a lease that says where to send the request and as what', async () => {
    const { request } = brokerOf();
    expect((await request({})).lease).toMatchObject({
      accountId: 'responses/team-a',
      pool: 'responses',
      format: ProviderFormat.RESPONSES,
      provider: 'provider_a',
      model: 'gpt-5.5',
      modelUnlisted: false,
      defaultEffort: 'high',
    });
    expect((await request({ model: 'claude-9' })).lease).toMatchObject({
      provider: 'provider_b',
      model: 'claude-9',
      modelUnlisted: true,
      defaultEffort: '',
    });
  });

  it('says for how long the lease counts, and has it count for longer when it is renewed', async () => {
    const { time, pools, request, finish, accounts } = brokerOf();
    const { lease } = await request({});
    if (lease === undefined) return expect.fail('there is a lease');
    expect(lease.ttlSeconds).toBe(900);
    const inFlight = async () => (await accounts()).find(({ id }) => id === lease.accountId)?.inFlight;
    for (let n = 0; n < 5; n++) {
      time.advanceMs(600_000);
      const { leaseId, accountId, pool, model } = lease;
      await pools.renewLeases({ renewals: [{ leaseId, accountId, pool, model }, { accountId: 'unknown/a' }] });
      expect(await inFlight()).toBe(1);
    }
    await finish(lease, succeeded);
    expect(await inFlight()).toBe(0);
  });

  it('moves to the second account when the first is limited', async () => {
    const { request } = brokerOf();
    const { tried, lease } = await request({}, [limited(60_000)]);
    expect(tried).toEqual(['responses/team-a']);
    expect(lease?.accountId).toBe('responses/team-b');
  });

  it('remembers that for later requests, until the reset', async () => {
    const { request, time } = brokerOf();
    await request({}, [limited(60_000)]);
    time.advanceMs(59_999);
    expect((await request({})).lease?.accountId).toBe('responses/team-b');
    time.advanceMs(1);
    const { tried, lease } = await request({}, [limited(1_000)]);
    expect([...tried, lease?.accountId]).toContain('responses/team-a');
  });

  it('moves to the next candidate when all accounts of the first are limited', async () => {
    const { request } = brokerOf();
    const { lease } = await request({}, [limited(60_000), limited(30_000)]);
    expect(lease).toMatchObject({ accountId: 'messages/team-a', model: 'claude-opus-4-8' });
  });

  it('says exhausted with the earliest reset when everything is limited', async () => {
    const { request } = brokerOf();
    const { end } = await request({}, [limited(60_000), limited(30_000), limited(90_000), limited(45_000)]);
    expect(end.case).toBe('exhausted');
    const retryAtMs = end.case === 'exhausted' ? end.value.retryAtMs : undefined;
    expect(retryAtMs).toBe(startMs + 30_000);
  });

  it('serves a client that waits until then', async () => {
    const { request, time } = brokerOf();
    await request({}, [limited(60_000), limited(30_000), limited(90_000), limited(45_000)]);
    time.advanceMs(30_000);
    expect((await request({})).lease?.accountId).toBe('responses/team-b');
  });

  it('stays with the first candidate when it may not fail over', async () => {
    const { request } = brokerOf();
    const { end } = await request({ failover: false }, [limited(60_000), limited(30_000)]);
    expect(end.case).toBe('exhausted');
  });

  it('moves to the second candidate when the first is down', async () => {
    const { request } = brokerOf();
    const { tried, lease } = await request({}, [broken, broken]);
    expect(tried).toEqual(['responses/team-a', 'responses/team-b']);
    expect(lease?.accountId).toBe('messages/team-a');
  });

  it('keeps the last attempt for a candidate that has not failed yet, however many accounts the first one has', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const accounts = names.map((name) => sampleAccount('responses', name));
    const { request } = brokerOf(gatewayWith([...accounts, sampleAccount('messages', 'a')]));
    const { tried, lease } = await request({}, [broken, broken]);
    expect(new Set(tried.map((id) => id.split('/')[0]))).toEqual(new Set(['responses']));
    expect(lease?.accountId).toBe('messages/a');
    // A limit is not an error: all accounts of the first candidate are tried.
    expect((await request({}, [limited(1), limited(1)])).lease?.accountId).toMatch(/^responses/);
  });

  it('stops after three errors, though there is another account', async () => {
    const { request } = brokerOf();
    expect((await request({}, [broken, broken, broken])).end.case).toBe('unavailable');
  });

  it('tries every account after 429s and refusals, however many', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { request } = brokerOf(gatewayWith(names.map((name) => sampleAccount('responses', name))));
    const refused = { result: AttemptResult.UNAUTHORIZED };
    const { tried, end } = await request({}, [limited(), refused, limited(), refused, limited(), limited(1_000)]);
    expect(tried.toSorted()).toEqual(names.map((name) => `responses/${name}`));
    const retryAtMs = end.case === 'exhausted' ? end.value.retryAtMs : undefined;
    expect(retryAtMs).toBe(startMs + 1_000);
  });

  it('says unavailable, and that a retry may succeed, when one candidate is limited and the other fails', async () => {
    const gateway = gatewayWith([sampleAccount('responses', 'a'), sampleAccount('messages', 'a')]);
    const mixed = (await brokerOf(gateway).request({}, [broken, limited(5_000)])).end;
    expect(mixed.case === 'unavailable' && mixed.value.retryAtMs).toEqual(startMs);
    const down = (await brokerOf(gateway).request({}, [broken, broken])).end;
    expect(down.case === 'unavailable' && down.value.retryAtMs).toBeUndefined();
  });

  it('spends no more than the budget on errors', async () => {
    const settings = { ...sampleGateway.settings, retryBudgetShare: 0, retryBudgetFloorPerSecond: 0.1 };
    const { request } = brokerOf({ ...sampleGateway, settings });
    expect((await request({}, [broken])).lease?.accountId).toBe('responses/team-b');
    expect((await request({}, [broken])).end.case).toBe('unavailable');
    expect((await request({}, [limited(1_000)])).end.case).toBe('lease');
  });

  it('spends no more than that on requests that fail together either', async () => {
    const settings = { ...sampleGateway.settings, retryBudgetShare: 0.1, retryBudgetFloorPerSecond: 0 };
    const { request } = brokerOf({ ...sampleGateway, settings });
    const ends = await Promise.all(Array.from({ length: 35 }, () => request({}, [broken])));
    expect(ends.filter(({ lease }) => lease !== undefined)).toHaveLength(3);
  });

  it('knows what it does not know', async () => {
    const { request } = brokerOf();
    expect((await request({ model: 'gateway/none' })).end.case).toBe('unknownModel');
    expect((await request({ model: 'llama' })).end.case).toBe('unknownModel');
    const formats = [ProviderFormat.RESPONSES];
    expect((await request({ model: 'gateway/claude', formats })).end.case).toBe('unknownModel');
    expect((await request({ model: 'claude-9', formats })).end.case).toBe('unknownModel');
  });

  it('confines a limit on one model to it', async () => {
    const { request } = brokerOf();
    await request({ model: 'claude-opus-4-8' }, [{ ...limited(60_000), modelScoped: true }]);
    const { lease } = await request({ model: 'claude-haiku-4-5' });
    expect(lease?.accountId).toBe('messages/team-a');
  });
});

describe('requests in flight', () => {
  const oneAtATime = () =>
    brokerOf(gatewayWith([sampleAccount('responses', 'a', { maxConcurrency: 1 }), sampleAccount('responses', 'b')]));

  it('are counted until they are reported on', async () => {
    const { request, finish, accounts } = oneAtATime();
    const { lease } = await request({ affinityKey: '' });
    expect((await accounts()).map(({ inFlight }) => inFlight)).toEqual([1, 0]);
    await finish(lease, succeeded);
    await finish(lease, succeeded);
    expect((await accounts()).map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });

  it('count against their account once, however often they are reported', async () => {
    const { request, finish, accounts } = brokerOf();
    const { lease } = await request({});
    for (let n = 0; n < 10; n++) await finish(lease, broken);
    expect((await accounts())[0]?.state).toBe(AccountState.AVAILABLE);
    for (let n = 0; n < 3; n++) await finish({ ...(lease ?? expect.fail()), leaseId: `${n}` }, broken);
    expect((await accounts())[0]?.state).toBe(AccountState.COOLING);
  });

  it('never pass the cap of an account, even when they come together', async () => {
    const { request } = oneAtATime();
    const leases = await Promise.all(Array.from({ length: 5 }, () => request({})));
    expect(leases.filter(({ lease }) => lease?.accountId === 'responses/a')).toHaveLength(1);
    expect(leases.filter(({ lease }) => lease?.accountId === 'responses/b')).toHaveLength(4);
  });

  it('of an edge that died stop counting', async () => {
    const { request, accounts, time } = oneAtATime();
    await request({});
    time.advanceMs(sampleGateway.settings.leaseTtlMs);
    expect((await accounts()).map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });

  it('are not those of callers that went away before they got their lease', async () => {
    const { pools, accounts } = brokerOf();
    const leave = new AbortController();
    const asked = pools.acquire({ model: 'gateway/sterk' }, { signal: leave.signal });
    leave.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(async () => (await accounts()).map(({ inFlight }) => inFlight)).not.toContain(1);
  });

  it('make a pool exhausted, with no reset, when every account has all it may have', async () => {
    const { request } = brokerOf(gatewayWith([sampleAccount('responses', 'a', { maxConcurrency: 1 })]));
    await request({});
    const { end } = await request({});
    expect(end.case).toBe('exhausted');
    expect(end.case === 'exhausted' && end.value.retryAtMs).toBeUndefined();
  });

  it('probe an account one at a time', async () => {
    const { request, finish, time } = brokerOf(gatewayWith([sampleAccount('responses', 'a')]));
    await request({}, [limited()]);
    time.advanceMs(sampleGateway.settings.rateLimitCooldownMs);
    const [probe, ...others] = await Promise.all([request({}), request({}), request({})]);
    expect(probe?.lease?.accountId).toBe('responses/a');
    expect(others.map(({ end }) => end.case)).toEqual(['exhausted', 'exhausted']);
    await finish(probe?.lease, succeeded);
    expect((await request({})).end.case).toBe('lease');
  });
});

describe('the quotas that answers report', () => {
  const windows = (usedFraction: number) => {
    return [{ name: '5h', usedFraction, resetsAfterMs: 9_000_000, lengthSeconds: 18_000 }];
  };

  it('are seen by operators, and steer what comes next', async () => {
    const { pools, request, accounts } = brokerOf();
    const { lease } = await request({});
    const report = { result: AttemptResult.SUCCEEDED, windows: windows(0.99) };
    await pools.report({ attempt: { lease, report } });
    const shown = { name: '5h', usedFraction: 0.99, resetsAtMs: startMs + 9_000_000 };
    expect((await accounts())[0]?.windows).toMatchObject([shown]);
    const next = await Promise.all(Array.from({ length: 5 }, () => request({})));
    expect(new Set(next.map((served) => served.lease?.accountId))).toEqual(new Set(['responses/team-b']));
  });
});

describe('a provider that is overloaded', () => {
  it('pauses its pool, not its accounts, and is asked by one request when the pause is over', async () => {
    const { request, time, accounts, pools } = brokerOf();
    const question = { failover: false };
    const overloaded = { result: AttemptResult.OVERLOADED };
    for (let n = 0; n < 4; n++) {
      expect((await request(question, [overloaded, overloaded])).tried).toHaveLength(2);
      time.advanceMs(400);
    }
    expect((await request(question)).end.case).toBe('unavailable');
    expect((await accounts()).map(({ state }) => state)).toEqual(Array(4).fill(AccountState.AVAILABLE));
    expect((await pools.listAccounts({})).pauses).toMatchObject([
      { pool: 'responses', model: 'gpt-5.5', reason: AttemptResult.OVERLOADED, wholePool: true },
    ]);
    expect((await pools.listAccounts({ pool: 'messages' })).pauses).toEqual([]);
    const { candidates } = await pools.explain({ model: 'gateway/sterk' });
    expect(candidates[0]?.accounts[0]?.reason).toMatch(/^the whole pool is paused until .* after overload$/);
    expect((await request({})).lease?.pool).toBe('messages');
    time.advanceMs(2_000);
    const answers = await Promise.all([request(question), request(question), request(question)]);
    expect(answers.map(({ end }) => end.case)).toEqual(['lease', 'unavailable', 'unavailable']);
  });
});

describe('a model that its provider does not offer', () => {
  const unknown = { result: AttemptResult.MODEL_UNAVAILABLE };

  it('is asked of every account, then of the next candidate, and from then on of that at once', async () => {
    const { request, finish } = brokerOf();
    const served = await request({}, [unknown, unknown]);
    expect(served.tried.toSorted()).toEqual(['responses/team-a', 'responses/team-b']);
    expect(served.lease?.pool).toBe('messages');
    await finish(served.lease, succeeded);
    expect(await request({})).toMatchObject({ tried: [], lease: { pool: 'messages' } });
    expect((await request({ model: 'gpt-5.5-mini' })).lease?.pool).toBe('responses');
  });

  it('that all lack is said to be lacked by all, and asked of one account for each further request', async () => {
    const { request, finish } = brokerOf();
    const question = { failover: false };
    const lacked = { case: 'unavailable', value: { lack: Lack.MODEL } };
    expect((await request(question, [unknown, unknown])).end).toMatchObject(lacked);
    for (let n = 0; n < 3; n++) expect(await request(question, [unknown])).toMatchObject({ end: lacked });
    const found = await request(question);
    await finish(found.lease, succeeded);
    expect((await request(question)).lease?.accountId).toBe(found.lease?.accountId);
  });

  it('is counted as no error, so that every account is asked', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { request, accounts } = brokerOf(gatewayWith(names.map((name) => sampleAccount('responses', name))));
    const { tried } = await request({}, Array(6).fill(unknown));
    expect(tried.toSorted()).toEqual(names.map((name) => `responses/${name}`));
    expect(new Set((await accounts()).map(({ state }) => state))).toEqual(new Set([AccountState.AVAILABLE]));
  });

  it('is seen by operators: at which account, and until when', async () => {
    const { request, pools, accounts } = brokerOf();
    const { tried } = await request({}, [unknown]);
    const account = (await accounts()).find(({ id }) => id === tried[0]);
    expect(account?.cooldowns).toMatchObject([{ model: 'gpt-5.5', reason: AttemptResult.MODEL_UNAVAILABLE }]);
    const { candidates } = await pools.explain({ model: 'gateway/sterk' });
    expect(candidates[0]?.accounts.find(({ account }) => account?.id === tried[0])?.reason).toMatch(
      /^cooling until 2026-11-20T12:1.* because its provider does not offer it gpt-5\.5$/,
    );
  });
});

describe('an account that its provider takes out of service', () => {
  const revoked = { result: AttemptResult.UNAUTHORIZED, problem: AccountProblem.CREDENTIAL_REVOKED };
  const monthMs = 30 * 86_400_000;

  it('takes no request any more, and is shown with the reason', async () => {
    const { request, accounts, pools, time, metrics } = brokerOf();
    expect((await request({}, [revoked])).lease?.accountId).toBe('responses/team-b');
    const note = 'The provider reports that the credential was revoked.';
    expect((await accounts())[0]).toMatchObject({ state: AccountState.DISABLED, cooldowns: [] });
    expect((await accounts())[0]?.note).toContain(note);
    const { candidates } = await pools.explain({ model: 'gateway/sterk' });
    expect(candidates[0]?.accounts[0]?.reason).toContain(`disabled: ${note}`);
    for (let day = 0; day < 29; day++) {
      time.advanceMs(monthMs / 30);
      const leases = await Promise.all([request({}), request({}), request({})]);
      expect(new Set(leases.map(({ lease }) => lease?.accountId))).toEqual(new Set(['responses/team-b']));
    }
    expect(await metrics.exposition()).toContain(
      'gateway_pool_accounts_disabled_total{pool="responses",problem="credential_revoked"} 1',
    );
  });

  it('is counted once, however many of its requests end so, and makes a pool unavailable, not exhausted', async () => {
    const { request, finish, accounts, metrics } = brokerOf(gatewayWith([sampleAccount('responses', 'a')]));
    const leases = await Promise.all([request({}), request({}), request({})]);
    for (const { lease } of leases) await finish(lease, revoked);
    expect((await accounts()).map(({ state }) => state)).toEqual([AccountState.DISABLED]);
    expect((await request({})).end.case).toBe('unavailable');
    expect(await metrics.exposition()).toMatch(/gateway_pool_accounts_disabled_total{.*} 1\n/);
  });

  it('is used again as soon as an operator enables it', async () => {
    const { request, operator } = brokerOf(gatewayWith([sampleAccount('responses', 'a')]));
    await request({}, [revoked]);
    expect((await request({})).end.case).toBe('unavailable');
    const active = { use: AccountUse.ACTIVE };
    const enabled = await operator.setAccountUse({ accountId: 'responses/a', ...active });
    expect(enabled).toMatchObject({
      before: { state: AccountState.DISABLED },
      account: { ...active, state: AccountState.AVAILABLE },
    });
    expect((await request({})).lease?.accountId).toBe('responses/a');
    expect((await operator.setAccountUse({ accountId: 'responses/z', ...active })).account).toBeUndefined();
  });
});

describe('callers that share a pool', () => {
  it('are kept to their part of the last places, and get them back', async () => {
    const { pools } = brokerOf(gatewayWith([sampleAccount('responses', 'a', { maxConcurrency: 4 })]));
    const ask = async (caller: string) => {
      const { result } = await pools.acquire({ model: 'gateway/sterk', caller });
      return result.case === 'lease' ? result.value : undefined;
    };
    const greedy = [await ask('greedy'), await ask('greedy'), await ask('greedy'), await ask('greedy')];
    expect(greedy.every((lease) => lease !== undefined)).toBe(true);
    expect(await ask('modest')).toBeUndefined();
    await pools.report({ attempt: { lease: greedy[0], report: succeeded } });
    await pools.report({ attempt: { lease: greedy[1], report: succeeded } });
    expect(await ask('modest')).toBeDefined();
    await pools.report({ attempt: { lease: greedy[2], report: succeeded } });
    expect(await ask('greedy')).toBeDefined();
    expect(await ask('modest')).toBeDefined();
    expect(await ask('modest')).toBeUndefined();
  });

  it('leave all of it to one that is alone, and leave others their share as soon as they ask', async () => {
    const { pools, time } = brokerOf(gatewayWith([sampleAccount('responses', 'a', { maxConcurrency: 20 })]));
    const ask = async (caller: string) => (await pools.acquire({ model: 'gateway/sterk', caller })).result;
    const takeAll = async (caller: string) => {
      for (let taken = 0; ; taken++) {
        const result = await ask(caller);
        if (result.case !== 'lease') return { taken, end: result };
      }
    };
    const first = await ask('modest');
    await pools.report({ attempt: { lease: first.case === 'lease' ? first.value : undefined, report: succeeded } });
    const { callerMemoryMs } = sampleGateway.settings;
    expect(await takeAll('greedy')).toMatchObject({ taken: 18, end: { case: 'exhausted' } });
    expect((await ask('modest')).case).toBe('lease');
    time.advanceMs(callerMemoryMs + 1);
    expect((await takeAll('greedy')).taken).toBe(1);
  });

  it('are kept to their part also when their requests come together', async () => {
    const names = ['a', 'b'].map((name) => sampleAccount('responses', name, { maxConcurrency: 10 }));
    const { pools } = brokerOf(gatewayWith(names));
    const ask = async (caller: string) => (await pools.acquire({ model: 'gateway/sterk', caller })).result.case;
    const askTogether = async (caller: string, count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => ask(caller)));
      return answers.filter((answer) => answer === 'lease').length;
    };
    expect(await askTogether('modest', 1)).toBe(1);
    expect(await askTogether('greedy', 50)).toBe(17);
    expect(await askTogether('greedy', 50)).toBe(0);
    expect(await askTogether('modest', 5)).toBe(2);
  });
});

describe('a session', () => {
  const affinityKey = 'token 1, session 1';

  it('stays where it succeeded', async () => {
    const { request, finish } = brokerOf();
    const first = await request({ affinityKey });
    await finish(first.lease, succeeded, affinityKey);
    const leases = await Promise.all(Array.from({ length: 20 }, () => request({ affinityKey })));
    expect(new Set(leases.map(({ lease }) => lease?.accountId))).toEqual(new Set([first.lease?.accountId]));
  });

  it('moves when its account fails, and stays where it moved to after the first is back', async () => {
    const { request, finish, time } = brokerOf();
    const first = await request({ affinityKey });
    await finish(first.lease, succeeded, affinityKey);
    const second = await request({ affinityKey }, [limited(10_000)]);
    expect(second.tried).toEqual([first.lease?.accountId]);
    expect(second.lease?.accountId).not.toBe(first.lease?.accountId);
    await finish(second.lease, succeeded, affinityKey);
    time.advanceMs(10_000);
    expect((await request({ affinityKey })).lease?.accountId).toBe(second.lease?.accountId);
  });

  it("is not moved by another session's failure on another account", async () => {
    const { request, finish } = brokerOf();
    const first = await request({ affinityKey });
    await finish(first.lease, succeeded, affinityKey);
    const mine = first.lease?.accountId;
    await finish(
      { ...(first.lease ?? expect.fail()), leaseId: 'x', accountId: 'responses/other' },
      broken,
      affinityKey,
    );
    expect((await request({ affinityKey })).lease?.accountId).toBe(mine);
  });

  it('stays where it moved to because others had its account limited', async () => {
    const { request, finish, time } = brokerOf();
    const first = await request({ affinityKey });
    await finish(first.lease, succeeded, affinityKey);
    const stranger = await request({ affinityKey: 'token 2' });
    const lease = { ...(stranger.lease ?? expect.fail()), accountId: first.lease?.accountId ?? '' };
    await finish(lease, limited(10_000), 'token 2');
    const moved = await request({ affinityKey });
    expect(moved.tried).toEqual([]);
    expect(moved.lease?.accountId).not.toBe(first.lease?.accountId);
    await finish(moved.lease, succeeded, affinityKey);
    time.advanceMs(10_000);
    expect((await request({ affinityKey })).lease?.accountId).toBe(moved.lease?.accountId);
  });

  it('keeps an account that was only busy for a request', async () => {
    const accounts = ['a', 'b'].map((name) => sampleAccount('responses', name, { maxConcurrency: 1 }));
    const { request, finish } = brokerOf(gatewayWith(accounts));
    const first = await request({ affinityKey });
    await finish(first.lease, succeeded, affinityKey);
    const second = await request({ affinityKey });
    const meanwhile = await request({ affinityKey });
    expect(second.lease?.accountId).toBe(first.lease?.accountId);
    expect(meanwhile.lease?.accountId).not.toBe(first.lease?.accountId);
    await finish(meanwhile.lease, succeeded, affinityKey);
    await finish(second.lease, succeeded, affinityKey);
    expect((await request({ affinityKey })).lease?.accountId).toBe(first.lease?.accountId);
  });

  it('is forgotten an hour after its last success', async () => {
    const { request, finish, pools, time } = brokerOf();
    const boundReason = async () => {
      const { candidates } = await pools.explain({ model: 'gateway/sterk', affinityKey });
      return candidates[0]?.accounts.map(({ reason }) => reason).find((reason) => reason !== '');
    };
    for (let n = 0; n < 3; n++) {
      const { lease } = await request({ affinityKey });
      await finish(lease, succeeded, affinityKey);
      time.advanceMs(3_599_999);
      expect(await boundReason()).toMatch(/^the session is bound to responses\/team-[ab]$/);
    }
    time.advanceMs(1);
    expect(await boundReason()).toMatch(/^responses\/team-[ab] has at least as much spare capacity$/);
  });
});

describe('operators', () => {
  it('see which account would serve a model and why not the others', async () => {
    const { request, pools } = brokerOf();
    await request({}, [limited(60_000)]);
    const { candidates } = await pools.explain({ model: 'gateway/sterk' });
    expect(candidates.map(({ pool, model }) => `${pool}/${model}`)).toEqual([
      'responses/gpt-5.5',
      'messages/claude-opus-4-8',
    ]);
    const reasons = candidates.flatMap(({ accounts }) =>
      accounts.map(({ account, chosen, reason }) => [account?.id, chosen, reason]),
    );
    expect(reasons).toEqual([
      ['responses/team-a', false, 'cooling until 2026-11-20T12:01:00.000Z after 429 (reset named by the provider)'],
      ['responses/team-b', true, ''],
      ['messages/team-a', false, 'an earlier candidate has an account available: responses/team-b'],
      ['messages/team-b', false, 'an earlier candidate has an account available: responses/team-b'],
    ]);
  });

  it('see accounts with their health', async () => {
    const { request, accounts } = brokerOf(
      gatewayWith([
        sampleAccount('responses', 'a'),
        sampleAccount('responses', 'b'),
        sampleAccount('messages', 'c', { state: 'draining' }),
        sampleAccount('messages', 'd', { state: 'disabled' }),
      ]),
    );
    await request({}, [limited(60_000)]);
    const [a, b, c, d] = await accounts();
    expect([a?.state, b?.state, c?.state, d?.state]).toEqual([
      AccountState.COOLING,
      AccountState.AVAILABLE,
      AccountState.DRAINING,
      AccountState.DISABLED,
    ]);
    expect(a?.cooldowns[0]).toMatchObject({ reason: AttemptResult.RATE_LIMITED, givenByProvider: true, model: '' });
  });

  it('see the pools and when their models were last reported on', async () => {
    const { pools } = brokerOf();
    await pools.reportModels({ pool: 'messages', reachable: true, models: [{ id: 'claude-9' }] });
    const listed = (await pools.listPools({})).pools;
    expect(listed.map(({ name, modelsReportedAtMs }) => [name, modelsReportedAtMs])).toEqual([
      ['responses', undefined],
      ['messages', startMs],
    ]);
    const ofFormat = await pools.listPools({ format: ProviderFormat.MESSAGES });
    expect(ofFormat.pools.map(({ name }) => name)).toEqual(['messages']);
    await expect(pools.reportModels({ pool: 'nowhere', reachable: true })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it("see why a provider's model list could not be read, and how many models are known", async () => {
    const { pools } = brokerOf();
    const seen = async () => {
      const [pool] = (await pools.listPools({ format: ProviderFormat.MESSAGES })).pools;
      return [pool?.modelListFailure, pool?.modelCount];
    };
    expect(await seen()).toEqual(['', 0]);
    await pools.reportModels({ pool: 'messages', reachable: true, models: [{ id: 'claude-9' }] });
    expect(await seen()).toEqual(['', 1]);
    await pools.reportModels({ pool: 'messages', reachable: false, cause: '401 from the provider' });
    expect(await seen()).toEqual(['401 from the provider', 1]);
    await pools.reportModels({ pool: 'messages', reachable: false });
    expect(await seen()).toEqual(['the model list could not be read', 1]);
  });

  it('see in metrics how requests and attempts ended', async () => {
    const { request, metrics } = brokerOf();
    await request({}, [limited(60_000)]);
    const exposition = await metrics.exposition();
    expect(exposition).toContain('gateway_pool_attempts_total{pool="responses",result="rate_limited"} 1');
    expect(exposition).toContain('gateway_pool_acquires_total{result="leased"} 2');
  });
});

describe('the public listing', () => {
  it('is sent at once to those who watch, and again when it changes', async () => {
    const { pools } = brokerOf();
    const stop = new AbortController();
    const sizes: number[] = [];
    const watching = (async () => {
      for await (const { models } of pools.watchCatalog({}, { signal: stop.signal })) {
        sizes.push(models.length);
        if (sizes.length === 2) return;
      }
    })();
    await expect.poll(() => sizes).toEqual([5]);
    await pools.reportModels({ pool: 'messages', reachable: true, models: [{ id: 'claude-9' }] });
    await watching;
    expect(sizes).toEqual([5, 6]);
    expect((await pools.listModels({})).models.at(-1)).toMatchObject({ id: 'claude-9', name: 'Claude 9' });
    stop.abort();
  });
});

describe('draining', () => {
  it('ends the streams of those who watch the catalog', async () => {
    const { pools, service } = brokerOf();
    let ended = false;
    const watching = (async () => {
      for await (const _ of pools.watchCatalog({})) await service.drain();
      ended = true;
    })();
    await watching;
    expect(ended).toBe(true);
  });
});

describe('a credential', () => {
  it('is given for the account of a lease', async () => {
    const { credentials } = brokerOf();
    const given = await credentials.getCredential({ target: { case: 'accountId', value: 'messages/team-b' } });
    expect(given).toMatchObject({
      accountId: 'messages/team-b',
      baseUrl: 'http://127.0.0.1:1/v1',
      secret: { case: 'apiKey', value: 'simulated-messages-b' },
    });
    expect(given.cacheableForMs).toBe(60_000);
  });

  it('is given for a pool, of its best account', async () => {
    const { credentials, request } = brokerOf();
    const ofPool = async () =>
      (await credentials.getCredential({ target: { case: 'pool', value: 'responses' } })).accountId;
    expect(await ofPool()).toBe('responses/team-a');
    await request({}, [{ result: AttemptResult.UNAUTHORIZED }]);
    expect(await ofPool()).toBe('responses/team-b');
    await request({}, [limited(60_000)]);
    expect(await ofPool()).toBe('responses/team-b');
  });

  it('is refused for an account that is unknown or disabled, without saying which', async () => {
    const { credentials } = brokerOf(gatewayWith([sampleAccount('responses', 'off', { state: 'disabled' })]));
    for (const [target, code] of [
      [{ case: 'accountId', value: 'responses/off' }, 'providers_unavailable'],
      [{ case: 'accountId', value: 'unknown' }, 'providers_unavailable'],
      [{ case: 'pool', value: 'responses' }, 'not_found'],
    ] as const) {
      await expect(credentials.getCredential({ target })).rejects.toMatchObject({
        code,
        message: expect.not.stringContaining('off'),
      });
    }
  });
});

describe('the service', () => {
  it('is ready once started, and ends its background work when disposed of', async () => {
    const { service } = brokerOf();
    expect(await service.notReady()).toBe('starting');
    await service.start();
    expect(await service.notReady()).toBeUndefined();
    await service[Symbol.asyncDispose]();
  });
});
