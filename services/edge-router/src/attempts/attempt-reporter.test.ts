import { create } from '@bufbuild/protobuf';
import { AttemptSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { RpcError } from '@gateway/rpc';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Leases, type ReportRequestInit } from './leases.ts';

function setUp() {
  vi.useFakeTimers();
  const tried: string[] = [];
  const taken: string[] = [];
  const givenUp: string[] = [];
  const options: unknown[] = [];
  const state = { away: false, refused: '', answers: Promise.resolve() };
  const leases = new Leases({
    broker: {
      acquire: async () => expect.fail('not expected here'),
      report: async ({ requestId = '' }, given) => {
        tried.push(requestId);
        options.push(given);
        await state.answers;
        if (state.away || requestId === state.refused) throw new RpcError('unavailable', 'away');
        taken.push(requestId);
        return { $typeName: 'gateway.pool.v1.ReportResponse' };
      },
      renewLeases: async () => expect.fail('not expected here'),
    },
    deadline: { timeoutMs: 1_000 },
    events: { reportGivenUp: (_fault, requestId) => givenUp.push(requestId), faulted: () => undefined },
  });
  onTestFinished(() => {
    leases[Symbol.dispose]();
    vi.useRealTimers();
  });
  return { leases, tried, options, taken, givenUp, state };
}

function endOf(requestId: string): ReportRequestInit {
  return { requestId, affinityKey: '', attempt: create(AttemptSchema) };
}

describe('the report of how an attempt ended', () => {
  it('has informed the broker when it resolves', async () => {
    const { leases, taken } = setUp();
    await leases.report(endOf('r1'));
    expect(taken).toEqual(['r1']);
  });

  it('does not delay the request while the broker is away, and reports when it is back', async () => {
    const { leases, tried, taken, givenUp, state } = setUp();
    state.away = true;
    for (const requestId of ['r1', 'r2', 'r3']) await leases.report(endOf(requestId));
    expect(tried).toEqual(['r1', 'r2', 'r3']);
    await vi.advanceTimersByTimeAsync(20_000);
    state.away = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(taken.toSorted()).toEqual(['r1', 'r2', 'r3']);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([taken.length, givenUp]).toEqual([3, []]);
  });

  it('reports the others while no broker takes one', async () => {
    const { leases, taken, givenUp, state } = setUp();
    state.away = true;
    for (const requestId of ['r1', 'r2', 'r3']) await leases.report(endOf(requestId));
    Object.assign(state, { away: false, refused: 'r1' });
    await vi.advanceTimersByTimeAsync(1_000);
    expect([taken.toSorted(), givenUp]).toEqual([['r2', 'r3'], []]);
  });

  it('asks one thing at a time of a broker that answers slowly, within the time limit of a call', async () => {
    const { leases, tried, options, taken, state } = setUp();
    state.away = true;
    for (const requestId of ['r1', 'r2']) await leases.report(endOf(requestId));
    const answers = Promise.withResolvers<void>();
    Object.assign(state, { away: false, answers: answers.promise });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(tried).toEqual(['r1', 'r2', 'r1']);
    answers.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(taken).toEqual(['r1', 'r2']);
    expect(new Set(options.map((given) => JSON.stringify(given)))).toEqual(new Set(['{"timeoutMs":1000}']));
  });

  it('tries no other report in the same moment when the broker takes none', async () => {
    const { leases, tried, state } = setUp();
    state.away = true;
    for (const requestId of ['r1', 'r2']) await leases.report(endOf(requestId));
    await vi.advanceTimersByTimeAsync(500);
    expect(tried).toEqual(['r1', 'r2', 'r1', 'r2']);
  });

  it('gives up after half a minute, and says so once', async () => {
    const { leases, tried, givenUp, state } = setUp();
    state.away = true;
    await leases.report(endOf('r1'));
    await vi.advanceTimersByTimeAsync(29_999);
    expect(givenUp).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(givenUp).toEqual(['r1']);
    const { length } = tried;
    await vi.advanceTimersByTimeAsync(60_000);
    leases[Symbol.dispose]();
    expect([tried.length, givenUp]).toEqual([length, ['r1']]);
  });

  it('keeps no more than ten thousand waiting', async () => {
    const { leases, givenUp, state } = setUp();
    state.away = true;
    for (let n = 0; n < 10_000; n++) await leases.report(endOf(`r${n}`));
    expect(givenUp).toEqual([]);
    await leases.report(endOf('last'));
    expect(givenUp).toEqual(['last']);
  });

  it('waits for nothing any more when it is closed', async () => {
    const { leases, tried, givenUp, state } = setUp();
    state.away = true;
    await leases.report(endOf('r1'));
    leases[Symbol.dispose]();
    leases[Symbol.dispose]();
    await vi.advanceTimersByTimeAsync(10_000);
    expect([tried, givenUp]).toEqual([['r1'], ['r1']]);
  });
});
