import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { usageEvent } from './__fixtures__/test-edge.ts';
import { UsageDelivery, type UsageSink } from './usage-delivery.ts';

const setUp = (sink: UsageSink, retryMs = 2) => {
  const faults: unknown[] = [];
  return { delivery: new UsageDelivery({ sink, onFault: (fault) => faults.push(fault), retryMs }), faults };
};

describe('UsageDelivery', () => {
  it('offers a batch until it is confirmed', async () => {
    const ledger = new FakeLedger();
    ledger.away = true;
    const { delivery, faults } = setUp(ledger);
    const delivered = delivery.deliver([usageEvent('r1')]);
    await expect.poll(() => faults.length).toBeGreaterThan(2);
    ledger.away = false;
    await delivered;
    expect([...ledger.rows.keys()]).toEqual(['r1']);
  });

  it('waits longer after each failure, for all batches together', async () => {
    const ledger = new FakeLedger();
    ledger.away = true;
    const { delivery, faults } = setUp(ledger, 50);
    const batches = ['r1', 'r2', 'r3', 'r4'].map((id) => delivery.deliver([usageEvent(id)]));
    await sleep(120);
    expect(faults.length).toBeLessThanOrEqual(8);
    ledger.away = false;
    await Promise.all(batches);
  });

  it('says when the sink takes events again', async () => {
    const ledger = new FakeLedger();
    const { delivery, faults } = setUp(ledger);
    expect(await delivery.whenTaking()).toBe(true);
    ledger.away = true;
    const delivered = delivery.deliver([usageEvent('r1')]);
    await expect.poll(() => faults.length).toBeGreaterThan(0);
    const taking = delivery.whenTaking().then(() => ledger.rows.size);
    await sleep(10);
    ledger.away = false;
    expect(await taking).toBe(1);
    await delivered;
  });

  it('stops at once, even when the sink never answers', async () => {
    const { delivery, faults } = setUp({ record: () => new Promise(() => undefined) });
    const delivered = delivery.deliver([usageEvent('r1')]);
    delivery[Symbol.dispose]();
    await expect(delivered).rejects.toThrow('delivery was stopped');
    await expect(delivery.deliver([usageEvent('r2')])).rejects.toThrow('delivery was stopped');
    expect(await delivery.whenTaking()).toBe(false);
    expect(faults).toEqual([]);
  });
});
