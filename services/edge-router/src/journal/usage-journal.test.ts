import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { ManualClock } from '@gateway/time';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { TestEdge, usageEvent } from './__fixtures__/test-edge.ts';
import type { UsageJournalOptions } from './usage-journal.ts';

describe('UsageJournal', () => {
  let folder: string;
  let ledger: FakeLedger;
  const startEdge = (options: Partial<UsageJournalOptions> = {}) =>
    TestEdge.start({ folder, sink: ledger, ...options });
  const segments = async () => (await readdir(folder)).filter((name) => name.endsWith('.journal')).sort();
  const textOf = async (name = '') => readFile(join(folder, name), 'utf8');
  const finish = async (edge: TestEdge, count: number, prefix = 'r') => {
    for (let n = 0; n < count; n++) {
      await edge.journal.finish(usageEvent(`${prefix}${n}`));
      // A file that is full has been followed by another one.
      await edge.disk.whenQuiet();
    }
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'journal-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('has a finished request on disk before it is delivered, and delivers it', async () => {
    ledger.away = true;
    await using edge = await startEdge();
    edge.journal.open(usageEvent('r1'));
    await edge.journal.finish(usageEvent('r1'));
    const [name] = await segments();
    expect(await textOf(name)).toMatch(/^O .*\nF .*\n$/);
    ledger.away = false;
    await expect.poll(() => [...ledger.rows.keys()]).toEqual(['r1']);
  });

  it('leaves nothing behind when everything was delivered', async () => {
    const edge = await startEdge();
    edge.journal.open(usageEvent('r1'));
    await edge.journal.finish(usageEvent('r1'));
    await edge.stop();
    expect([...ledger.rows.keys()]).toEqual(['r1']);
    expect(await readdir(folder)).toEqual([]);
  });

  it('keeps what could not be delivered for the next process', async () => {
    ledger.away = true;
    const first = await startEdge();
    await first.journal.finish(usageEvent('r1'));
    await first.stop();
    expect(ledger.rows.size).toBe(0);
    ledger.away = false;
    await using _second = await startEdge();
    await expect.poll(() => [...ledger.rows.keys()]).toEqual(['r1']);
    await expect.poll(async () => (await readdir(folder)).length).toBe(2);
  });

  it('books an open request of a killed process as failed or lost, unless it had ended', async () => {
    const killed = await startEdge();
    const { journal } = killed;
    journal.open(usageEvent('unanswered', Outcome.UNSPECIFIED));
    journal.open(usageEvent('cut', Outcome.UNSPECIFIED));
    journal.open(usageEvent('cut', Outcome.FAILED));
    journal.open(usageEvent('refused', Outcome.UNSPECIFIED));
    journal.void('refused');
    journal.open(usageEvent('done', Outcome.UNSPECIFIED));
    ledger.away = true;
    await journal.finish(usageEvent('done'));
    killed.kill();
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(() => ledger.rows.size).toBe(3);
    expect(ledger.rows.get('done')).toMatchObject({ outcome: Outcome.COMPLETED, estimated: false });
    expect(ledger.rows.get('cut')).toMatchObject({ outcome: Outcome.FAILED, estimated: true });
    expect(ledger.rows.get('unanswered')).toMatchObject({ outcome: Outcome.LOST, estimated: true });
  });

  it('starts new files as it grows, removes delivered ones, and carries open requests along', async () => {
    await using edge = await startEdge({ segmentBytes: 200 });
    edge.journal.open(usageEvent('long'));
    await finish(edge, 20);
    await expect.poll(() => ledger.rows.size).toBe(20);
    await expect.poll(segments).toHaveLength(1);
    const [name] = await segments();
    expect(name).not.toMatch(/-00000000\.journal$/);
    expect(await textOf(name)).toContain('"long"');
  });

  it('does not take requests for cut whose beginning and end stand in different files', async () => {
    const killed = await startEdge({ segmentBytes: 1 });
    ledger.away = true;
    killed.journal.open(usageEvent('refused', Outcome.UNSPECIFIED));
    killed.journal.open(usageEvent('done', Outcome.UNSPECIFIED));
    await killed.journal.finish(usageEvent('first'));
    await expect.poll(segments).toHaveLength(2);
    killed.journal.void('refused');
    await killed.journal.finish(usageEvent('done'));
    killed.kill();
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(segments).toHaveLength(1);
    expect([...ledger.rows.keys()].sort()).toEqual(['done', 'first']);
    expect(ledger.rows.get('done')).toMatchObject({ outcome: Outcome.COMPLETED, estimated: false });
  });

  it('keeps a file until all older ones are gone: it may hold the ends of requests that began there', async () => {
    const killed = await startEdge({ segmentBytes: 1, memoryEvents: 1 });
    ledger.away = true;
    killed.journal.open(usageEvent('refused', Outcome.UNSPECIFIED));
    await killed.journal.finish(usageEvent('stuck'));
    await expect.poll(segments).toHaveLength(2);
    killed.journal.void('refused');
    await killed.disk.whenQuiet();
    await killed.tend();
    expect(await segments()).toHaveLength(2);
    killed.kill();
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(segments).toHaveLength(1);
    expect([...ledger.rows.keys()]).toEqual(['stuck']);
  });

  it('does not fill file after file with open requests when there are more than fit into one', async () => {
    ledger.away = true;
    await using edge = await startEdge({ segmentBytes: 1_000 });
    for (let n = 0; n < 100; n++) edge.journal.open(usageEvent(`long${n}`));
    await finish(edge, 200);
    expect((await segments()).length).toBeLessThan(10);
  });

  describe('while the ledger is away', () => {
    it('holds no more events in memory than it may, and delivers the others from disk afterwards', async () => {
      ledger.away = true;
      await using edge = await startEdge({ memoryEvents: 10, segmentBytes: 2_000 });
      await finish(edge, 300);
      expect(edge.journal.backlog).toMatchObject({ events: 300, heldEvents: 10 });
      expect((await segments()).length).toBeGreaterThan(5);
      ledger.away = false;
      await edge.tend();
      await expect.poll(() => ledger.rows.size).toBe(300);
      await expect.poll(() => edge.journal.backlog).toMatchObject({ events: 0, heldEvents: 0, segments: 1 });
      expect(await segments()).toHaveLength(1);
      expect(edge.told).toMatchObject({ drained: 290, lost: [], damage: [], faults: [] });
    });

    it('does not read back what it could only hold in memory', async () => {
      ledger.away = true;
      const killed = await startEdge({ segmentBytes: 20_000 });
      await finish(killed, 2_000);
      killed.kill();
      await using edge = await startEdge();
      await edge.tend();
      expect(ledger.rows.size).toBe(0);
      ledger.away = false;
      await expect.poll(() => ledger.rows.size).toBe(2_000);
      expect(ledger.largestBatch).toBeLessThanOrEqual(500);
      expect(ledger.callsAtATime).toBeLessThanOrEqual(8);
    });

    it('goes on delivering new events while the others come from disk', async () => {
      ledger.away = true;
      await using edge = await startEdge({ memoryEvents: 10, segmentBytes: 50_000 });
      await finish(edge, 2_000, 'old');
      ledger.away = false;
      await edge.tend();
      await finish(edge, 100, 'new');
      await expect.poll(() => ledger.rows.size).toBe(2_100);
    });

    it('is not stopped by an answer that gets lost', async () => {
      ledger.mute = true;
      await using edge = await startEdge({ memoryEvents: 10, segmentBytes: 2_000 });
      await finish(edge, 50);
      await sleep(20);
      ledger.mute = false;
      await edge.tend();
      await expect.poll(() => edge.journal.backlog.events).toBe(0);
      expect(ledger.rows.size).toBe(50);
    });

    it('says how old the oldest unconfirmed event is', async () => {
      const clock = new ManualClock(1_000_000);
      ledger.away = true;
      await using edge = await startEdge({ clock, memoryEvents: 1 });
      expect(edge.journal.backlog.oldestSeconds).toBe(0);
      await edge.journal.finish(usageEvent('held'));
      clock.advanceMs(10_000);
      await edge.journal.finish(usageEvent('spilled'));
      clock.advanceMs(5_000);
      expect(edge.journal.backlog).toMatchObject({ events: 2, oldestSeconds: 15 });
      ledger.away = false;
      await edge.tend();
      await expect.poll(() => edge.journal.backlog.oldestSeconds).toBe(0);
    });
  });
});
