import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { FaultyDisk } from './__fixtures__/faulty-disk.ts';
import { TestEdge, usageEvent } from './__fixtures__/test-edge.ts';
import type { UsageJournalOptions } from './usage-journal.ts';

describe('a journal whose disk is full', () => {
  let folder: string;
  let ledger: FakeLedger;
  const startEdge = (options: Partial<UsageJournalOptions> = {}) =>
    TestEdge.start({ folder, sink: ledger, ...options });
  const journalText = async () => {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.journal'));
    return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('');
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'journal-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('lets requests end, and delivers them from memory', async () => {
    await using edge = await startEdge();
    edge.disk.isFull = true;
    edge.journal.open(usageEvent('r1'));
    await edge.journal.finish(usageEvent('r1'));
    await edge.journal.finish(usageEvent('r2'));
    await expect.poll(() => [...ledger.rows.keys()]).toEqual(['r1', 'r2']);
    expect(edge.told.writeErrors).toBe(1);
  });

  it('writes again when there is room, beginning with what waits in memory', async () => {
    ledger.away = true;
    const edge = await startEdge();
    edge.journal.open(usageEvent('cut', Outcome.FAILED));
    edge.disk.isFull = true;
    await edge.journal.finish(usageEvent('r1'));
    await edge.journal.finish(usageEvent('r2'));
    edge.disk.isFull = false;
    await edge.tend();
    await edge.journal.finish(usageEvent('r3'));
    edge.kill();
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(() => [...ledger.rows.keys()].sort()).toEqual(['cut', 'r1', 'r2', 'r3']);
  });

  it('tells the disk afterwards what ended meanwhile, so that nothing is booked for a request that was refused', async () => {
    const edge = await startEdge();
    edge.journal.open(usageEvent('refused', Outcome.UNSPECIFIED));
    edge.journal.open(usageEvent('done', Outcome.UNSPECIFIED));
    await edge.disk.whenQuiet();
    edge.disk.isFull = true;
    edge.journal.void('refused');
    await edge.journal.finish(usageEvent('done'));
    await expect.poll(() => ledger.rows.size).toBe(1);
    edge.disk.isFull = false;
    await edge.tend();
    edge.kill();
    await using _next = await startEdge();
    await expect.poll(journalText).toBe('');
    expect([...ledger.rows.values()].map(({ requestId, outcome }) => [requestId, outcome])).toEqual([
      ['done', Outcome.COMPLETED],
    ]);
  });

  it('drops usage, and says so, only when memory is full as well', async () => {
    ledger.away = true;
    await using edge = await startEdge({ memoryEvents: 2 });
    for (const requestId of ['r1', 'r2', 'r3']) await edge.journal.finish(usageEvent(requestId));
    edge.disk.isFull = true;
    await edge.journal.finish(usageEvent('r4'));
    expect(edge.told.lost).toEqual(['r4']);
    ledger.away = false;
    await edge.tend();
    await expect.poll(() => [...ledger.rows.keys()].sort()).toEqual(['r1', 'r2', 'r3']);
  });

  it.each(['isFull', 'makesNoFiles'] as const)('can be opened (%s), and begins to write when it can', async (fault) => {
    const disk = new FaultyDisk();
    disk[fault] = true;
    await using edge = await startEdge({ disk });
    await edge.journal.finish(usageEvent('r1'));
    await expect.poll(() => ledger.rows.size).toBe(1);
    disk[fault] = false;
    ledger.away = true;
    await edge.tend();
    await edge.journal.finish(usageEvent('r2'));
    expect(await journalText()).toContain('"r2"');
    ledger.away = false;
  });

  it('goes on in the file that it has when no other one can be made', async () => {
    ledger.away = true;
    await using edge = await startEdge({ segmentBytes: 1 });
    edge.disk.makesNoFiles = true;
    for (const requestId of ['r1', 'r2', 'r3']) await edge.journal.finish(usageEvent(requestId));
    expect(await journalText()).toContain('"r3"');
    expect(edge.told.writeErrors).toBe(1);
    ledger.away = false;
  });

  it('can not be opened where there can be no folder', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(startEdge({ folder: join(folder, 'file/journal') })).rejects.toThrow('ENOTDIR');
  });
});

describe('what is forced onto the disk', () => {
  let folder: string;
  const startEdge = (sync: UsageJournalOptions['sync']) =>
    TestEdge.start({ folder, sink: new FakeLedger(), ...(sync === undefined ? {} : { sync }) });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'journal-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is everything before a request ends, when always asked for', async () => {
    await using edge = await startEdge('always');
    await edge.journal.finish(usageEvent('r1'));
    await edge.journal.finish(usageEvent('r2'));
    expect(edge.disk.syncs).toBe(2);
  });

  it('is by default nothing while a request ends, and everything a moment later', async () => {
    await using edge = await startEdge(undefined);
    await edge.journal.finish(usageEvent('r1'));
    expect(edge.disk.syncs).toBe(0);
    await edge.tend();
    expect(edge.disk.syncs).toBe(1);
    await edge.tend();
    expect(edge.disk.syncs).toBe(1);
  });

  it('is nothing when none is asked for', async () => {
    const edge = await startEdge('none');
    await edge.journal.finish(usageEvent('r1'));
    await edge.tend();
    await edge.stop();
    expect(edge.disk.syncs).toBe(0);
  });

  it('is no longer entrusted to a file that could not be forced: the next one is begun', async () => {
    await using edge = await startEdge('always');
    edge.disk.failsToSync = true;
    await edge.journal.finish(usageEvent('r1'));
    expect(edge.told.writeErrors).toBe(1);
    edge.disk.failsToSync = false;
    await edge.tend();
    const before = edge.disk.syncs;
    await edge.journal.finish(usageEvent('r2'));
    expect(edge.disk.syncs).toBe(before + 1);
    expect(edge.told.writeErrors).toBe(1);
  });
});

describe('a journal on a disk that has just answered', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'journal-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is written at once, and by another thread before', async () => {
    await using edge = await TestEdge.start({ folder, sink: new FakeLedger() });
    await edge.journal.finish(usageEvent('r1'));
    expect(edge.disk.writesAtOnce).toBe(0);
    await edge.tend();
    await edge.journal.finish(usageEvent('r2'));
    expect(edge.disk.writesAtOnce).toBe(1);
  });

  it('lets requests end, and delivers them from memory, when a write fails then', async () => {
    const ledger = new FakeLedger();
    ledger.away = true;
    await using edge = await TestEdge.start({ folder, sink: ledger });
    edge.journal.open(usageEvent('r1'));
    await edge.journal.finish(usageEvent('r2'));
    await edge.tend();
    edge.disk.isFull = true;
    await Promise.all(['r1', 'r3', 'r4'].map((requestId) => edge.journal.finish(usageEvent(requestId))));
    expect(edge.disk.writesAtOnce).toBe(1);
    expect(edge.told.writeErrors).toBe(1);
    ledger.away = false;
    await expect.poll(() => [...ledger.rows.keys()].sort()).toEqual(['r1', 'r2', 'r3', 'r4']);
  });
});
