import { create } from '@bufbuild/protobuf';
import { LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Leases } from './leases.ts';

const lease = (leaseId: string, ttlSeconds = 30) =>
  create(LeaseSchema, { leaseId, accountId: 'p/a', pool: 'p', model: 'm', provider: 'x', ttlSeconds });

function setUp(fault?: Error) {
  vi.useFakeTimers();
  const renewed: string[][] = [];
  const faults: unknown[] = [];
  const renewals = new Leases({
    broker: {
      acquire: async () => expect.fail('not expected here'),
      report: async () => expect.fail('not expected here'),
      renewLeases: async (request) => {
        renewed.push((request.renewals ?? []).map(({ leaseId = '' }) => leaseId));
        if (fault !== undefined) throw fault;
        return { $typeName: 'gateway.pool.v1.RenewLeasesResponse' };
      },
    },
    timeoutMs: 1_000,
    events: { reportGivenUp: () => undefined, faulted: (_part, thrown) => faults.push(thrown) },
  });
  onTestFinished(() => {
    renewals[Symbol.dispose]();
    vi.useRealTimers();
  });
  return { renewals, renewed, faults };
}

describe('the renewal of leases', () => {
  it('renews what goes on at a third of its time to live, together, and nothing that has ended', async () => {
    const { renewals, renewed } = setUp();
    renewals.startRenewing('one', lease('l1'));
    renewals.startRenewing('two', lease('l2'));
    renewals.startRenewing('three', lease('l3'));
    await vi.advanceTimersByTimeAsync(9_000);
    expect(renewed).toEqual([]);
    renewals.stopRenewing('two');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(renewed).toEqual([['l1', 'l3']]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(renewed).toEqual([
      ['l1', 'l3'],
      ['l1', 'l3'],
    ]);
  });

  it('renews only the latest lease of a request', async () => {
    const { renewals, renewed } = setUp();
    renewals.startRenewing('one', lease('l1'));
    renewals.startRenewing('one', lease('l2'));
    await vi.advanceTimersByTimeAsync(11_000);
    expect(renewed).toEqual([['l2']]);
  });

  it('goes on after a round that no broker has taken', async () => {
    const { renewals, renewed, faults } = setUp(new Error('away'));
    renewals.startRenewing('one', lease('l1'));
    await vi.advanceTimersByTimeAsync(21_000);
    expect(renewed).toEqual([['l1'], ['l1']]);
    expect(faults).toHaveLength(2);
  });

  it('leaves leases alone of a broker that does not say how long they count', async () => {
    const { renewals, renewed } = setUp();
    renewals.startRenewing('one', lease('l1', 0));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(renewed).toEqual([]);
  });
});
