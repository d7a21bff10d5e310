import { create } from '@bufbuild/protobuf';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type AcquireResponse, AcquireResponseSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Patience } from '../patience.ts';
import { Leases } from './leases.ts';

const request = { requestId: 'r', model: 'm' };
const leased = create(AcquireResponseSchema, { result: { case: 'lease', value: { leaseId: 'l', accountId: 'p/a' } } });
const exhausted = create(AcquireResponseSchema, { result: { case: 'exhausted', value: {} } });

function setUp() {
  vi.useFakeTimers();
  const answer = Promise.withResolvers<AcquireResponse>();
  const reported: unknown[] = [];
  const leases = new Leases({
    broker: {
      acquire: (_request, options = {}) => {
        const tooLate = () => answer.reject(new RpcError('deadline_exceeded', 'the call was cancelled'));
        setTimeout(tooLate, options.timeoutMs);
        return answer.promise;
      },
      report: async ({ requestId, affinityKey, attempt }) => {
        reported.push([requestId, affinityKey, attempt?.lease?.leaseId, attempt?.report?.result]);
        return { $typeName: 'gateway.pool.v1.ReportResponse' };
      },
      renewLeases: async () => expect.fail('not expected here'),
    },
    deadline: { timeoutMs: 11_000 },
    events: { reportGivenUp: () => undefined, faulted: () => undefined },
  });
  onTestFinished(() => {
    leases[Symbol.dispose]();
    vi.useRealTimers();
  });
  const acquired = leases.acquire(request, new Patience(1_000)).catch((thrown: unknown) => thrown);
  return { answer, reported, acquired };
}

describe('the call that asks for an account', () => {
  it('gives what the broker answers in time, and gives nothing back', async () => {
    const { answer, reported, acquired } = setUp();
    await vi.advanceTimersByTimeAsync(999);
    answer.resolve(leased);
    expect(await acquired).toBe(leased);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(reported).toEqual([]);
  });

  it('fails when its request gives up, and gives back a lease that comes later', async () => {
    const { answer, reported, acquired } = setUp();
    await vi.advanceTimersByTimeAsync(1_001);
    expect(await acquired).toMatchObject({ status: 'deadline_exceeded' });
    await vi.advanceTimersByTimeAsync(5_000);
    answer.resolve(leased);
    await vi.advanceTimersByTimeAsync(0);
    expect(reported).toEqual([['r', '', 'l', AttemptResult.CANCELLED]]);
  });

  it('has nothing to give back after a late answer without a lease', async () => {
    const { answer, reported, acquired } = setUp();
    await vi.advanceTimersByTimeAsync(1_001);
    expect(await acquired).toBeInstanceOf(RpcError);
    answer.resolve(exhausted);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(reported).toEqual([]);
  });

  it('is cancelled when the broker stands still for long', async () => {
    const { reported, acquired } = setUp();
    await vi.advanceTimersByTimeAsync(20_000);
    expect([await acquired, reported]).toEqual([expect.any(RpcError), []]);
  });

  it('fails as the broker fails', async () => {
    const { answer, reported, acquired } = setUp();
    answer.reject(new RpcError('unavailable', 'away'));
    expect(await acquired).toMatchObject({ status: 'unavailable' });
    expect(reported).toEqual([]);
  });
});
