import { create } from '@bufbuild/protobuf';
import { LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { admittedCall } from '../__fixtures__/test-call.ts';
import { Leases } from './leases.ts';

const lease = (leaseId: string, ttlSeconds = 30) =>
  create(LeaseSchema, { leaseId, accountId: 'p/a', pool: 'p', model: 'm', provider: 'x', ttlSeconds });

function setUp(fault?: Error) {
  vi.useFakeTimers();
  const renewed: string[][] = [];
  const calls: unknown[] = [];
  const faults: unknown[] = [];
  const renewals = new Leases({
    broker: {
      acquire: async () => expect.fail('not expected here'),
      report: async () => expect.fail('not expected here'),
      renewLeases: async (request, options) => {
        calls.push([request.renewals, options]);
        renewed.push((request.renewals ?? []).map(({ leaseId = '' }) => leaseId));
        if (fault !== undefined) throw fault;
        return { $typeName: 'gateway.pool.v1.RenewLeasesResponse' };
      },
    },
    deadline: { timeoutMs: 1_000 },
    events: { reportGivenUp: () => undefined, faulted: (...fault) => faults.push(fault) },
  });
  onTestFinished(() => {
    renewals[Symbol.dispose]();
    vi.useRealTimers();
  });
  return { renewals, renewed, calls, faults };
}

describe('the renewal of leases', () => {
  it('renews what goes on at a third of its time to live, together, and nothing that has ended', async () => {
    const { renewals, renewed } = setUp();
    renewals.startRenewing(lease('l1'));
    const two = renewals.startRenewing(lease('l2'));
    renewals.startRenewing(lease('l3'));
    await vi.advanceTimersByTimeAsync(9_000);
    expect(renewed).toEqual([]);
    two[Symbol.dispose]();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(renewed).toEqual([['l1', 'l3']]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(renewed).toEqual([
      ['l1', 'l3'],
      ['l1', 'l3'],
    ]);
  });

  it('comes no later than after a third, and names the account, pool and model', async () => {
    const { renewals, calls } = setUp();
    renewals.startRenewing(lease('l1', 9));
    await vi.advanceTimersByTimeAsync(2_999);
    expect(calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(calls).toEqual([[[{ leaseId: 'l1', accountId: 'p/a', pool: 'p', model: 'm' }], { timeoutMs: 1_000 }]]);
  });

  it('renews each of many leases once a round, at most 500 in one call', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_600 }), async (count) => {
        const { renewals, renewed } = setUp();
        const leaseIds = Array.from({ length: count }, (_, n) => `l${n}`);
        for (const leaseId of leaseIds) renewals.startRenewing(lease(leaseId));
        await vi.advanceTimersByTimeAsync(11_000);
        expect(renewed.flat()).toEqual(leaseIds);
        expect(renewed).toHaveLength(Math.ceil(count / 500));
        renewals[Symbol.dispose]();
      }),
      { numRuns: 10, examples: [[500], [501], [1_000]] },
    );
  });

  it('ends when the edge does', async () => {
    const { renewals, renewed } = setUp();
    renewals.startRenewing(lease('l1'));
    renewals[Symbol.dispose]();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(renewed).toEqual([]);
  });

  it('renews only the latest lease of a request, until it ends', async () => {
    const { renewals, renewed } = setUp();
    const call = admittedCall();
    for (const each of [lease('l1'), lease('l2')]) call.onLease(renewals.startRenewing(each));
    await vi.advanceTimersByTimeAsync(11_000);
    expect(renewed).toEqual([['l2']]);
    call.release();
    await vi.advanceTimersByTimeAsync(11_000);
    expect(renewed).toEqual([['l2']]);
  });

  it('goes on after a round that no broker has taken', async () => {
    const away = new Error('away');
    const { renewals, renewed, faults } = setUp(away);
    renewals.startRenewing(lease('l1'));
    await vi.advanceTimersByTimeAsync(21_000);
    expect(renewed).toEqual([['l1'], ['l1']]);
    expect(faults).toEqual([
      ['renew', away],
      ['renew', away],
    ]);
  });

  it('leaves leases alone of a broker that does not say how long they count', async () => {
    const { renewals, renewed } = setUp();
    renewals.startRenewing(lease('l1', 0));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(renewed).toEqual([]);
  });
});
