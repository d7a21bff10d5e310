import { mkdtempSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { LedgerOutcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { type OutboxOptions, TestEdge, usageEvent } from './__fixtures__/test-edge.ts';
import { OutboxFile } from './outbox-file.ts';
import type { UsageSink } from './send-batch.ts';

const malformed = Object.assign(new Error('database disk image is malformed'), { errcode: 11 });

describe('what waits in the outbox', () => {
  let folder: string;
  let ledger: FakeLedger;
  const startEdge = (options: Partial<OutboxOptions> = {}) => TestEdge.start({ folder, sink: ledger, ...options });
  const delivered = () => [...ledger.rows.keys()].sort();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outbox-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is reported with its number, its size on disk and the age of its oldest', async () => {
    ledger.away = true;
    await using edge = await startEdge();
    await expect.poll(() => edge.seen.bytes).toBeGreaterThan(0);
    await expect.poll(() => edge.seen).toMatchObject({ waiting: 0, oldestSeconds: expect.closeTo(0, 1) });
    const first = Date.now();
    await edge.outbox.finish(usageEvent('r1'));
    await expect.poll(() => edge.seen.oldestSeconds).toBeGreaterThan(0.05);
    await edge.outbox.finish(usageEvent('r2'));
    await expect.poll(() => edge.seen.waiting).toBe(2);
    expect(edge.seen.oldestSeconds).toBeGreaterThan(0.05);
    expect(edge.seen.oldestSeconds).toBeLessThanOrEqual((Date.now() - first) / 1_000);
    ledger.away = false;
    await expect.poll(() => edge.seen.waiting).toBe(0);
    await expect.poll(() => edge.seen.oldestSeconds).toBeCloseTo(0, 1);
  });

  it('has the age of its oldest row on disk when most of it is only there', async () => {
    ledger.away = true;
    await using edge = await startEdge();
    for (let n = 0; n < 2_000; n++) void edge.outbox.finish(usageEvent(`r${n}`));
    const ended = Date.now();
    await expect.poll(() => edge.seen.waiting).toBe(2_000);
    await expect.poll(() => Date.now() - ended).toBeGreaterThan(100);
    await expect.poll(() => edge.seen.oldestSeconds).toBeGreaterThan(0.1);
    expect(edge.seen.oldestSeconds).toBeLessThan(60);
  });

  it('is nothing of a request that ends without usage, not even on disk', async () => {
    const edge = await startEdge({ maintainMs: 3_600_000 });
    edge.outbox.open(usageEvent('r1', LedgerOutcome.UNSPECIFIED));
    await turn();
    edge.outbox.close('r1');
    edge.outbox.close('unknown');
    await turn();
    expect(edge.writtenStates()).toEqual(['open', 'gone']);
    await edge.stop();
    expect([await readdir(folder), ledger.rows.size]).toEqual([[], 0]);
  });

  it('holds log entries back for the next usage, or until it is closed', async () => {
    const edge = await startEdge({ maintainMs: 60_000 });
    await edge.outbox.finish(usageEvent('r1'));
    edge.outbox.log(create(RequestLoggedSchema, { requestId: 'r1' }));
    for (let turns = 0; turns < 20; turns++) await turn();
    expect([ledger.logs.size, edge.writtenStates()]).toEqual([0, []]);
    await edge.outbox.finish(usageEvent('r2'));
    expect([...ledger.logs.keys()]).toEqual(['r1']);
    edge.outbox.log(create(RequestLoggedSchema, { requestId: 'r2' }));
    await edge.stop();
    expect([...ledger.logs.keys()]).toEqual(['r1', 'r2']);
    expect(await readdir(folder)).toEqual([]);
  });

  it('takes no more log entries with 20,000 rows to deliver: the room is for usage', async () => {
    ledger.away = true;
    await using edge = await startEdge();
    for (let n = 1; n < 20_000; n++) void edge.outbox.finish(usageEvent(`r${n}`));
    const log = (requestId: string) => edge.outbox.log(create(RequestLoggedSchema, { requestId }));
    expect([log('l1'), log('l2')]).toEqual([true, false]);
    await edge.outbox.finish(usageEvent('last'));
    await expect.poll(() => edge.seen.waiting).toBe(20_001);
    expect(log('l3')).toBe(false);
    ledger.away = false;
    await expect.poll(() => edge.seen.waiting).toBe(0);
    expect(ledger.rows.size).toBe(20_000);
    expect([...ledger.logs.keys()]).toEqual(['l1']);
    expect(log('l4')).toBe(true);
  });

  it('is what the disk has of a request when neither disk nor memory has room for its end', async () => {
    const edge = await startEdge({ memoryEvents: 2, lastDeliveryMs: 5 });
    edge.outbox.open(usageEvent('stored', LedgerOutcome.FAILED));
    await turn();
    ledger.away = true;
    edge.isDiskFull = true;
    edge.outbox.open(usageEvent('unknown', LedgerOutcome.FAILED));
    for (const requestId of ['r1', 'r2', 'stored', 'unknown', 'r3']) await edge.outbox.finish(usageEvent(requestId));
    expect(edge.seen.lost).toEqual(['stored', 'unknown', 'r3']);
    edge.isDiskFull = false;
    ledger.away = false;
    await expect.poll(delivered).toEqual(['r1', 'r2', 'stored']);
    expect(ledger.rows.get('stored')).toMatchObject({ outcome: LedgerOutcome.FAILED, estimated: true });
    await expect.poll(() => edge.seen.waiting).toBe(0);
    await edge.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it('starts on a full disk, keeps usage in memory, and writes it once there is room', async () => {
    ledger.away = true;
    let isFull = true;
    const openFile: typeof OutboxFile.open = (path, synchronous) => {
      if (isFull) throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
      return OutboxFile.open(path, synchronous);
    };
    const edge = await startEdge({ openFile });
    edge.outbox.open(usageEvent('open', LedgerOutcome.FAILED));
    await edge.outbox.finish(usageEvent('r1'));
    await expect.poll(() => edge.seen.writeErrors).toBeGreaterThan(0);
    expect(await readdir(folder)).toEqual([]);
    isFull = false;
    await expect.poll(() => readdir(folder)).toContainEqual(expect.stringMatching(/\.sqlite$/));
    await edge.outbox.finish(usageEvent('open'));
    await edge.stop();
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(delivered).toEqual(['open', 'r1']);
  });

  it('refuses to start where its file cannot be created for another reason', async () => {
    const openFile: typeof OutboxFile.open = () => {
      throw Object.assign(new Error('attempt to write a readonly database'), { errcode: 8 });
    };
    await expect(startEdge({ openFile })).rejects.toThrow('readonly');
  });

  it('moves to a new file when its own is found to be damaged, which stays for inspection', async () => {
    ledger.away = true;
    const { names, openFile } = firstFileFails('write', () => ledger.largestBatch > 0);
    const edge = await startEdge({ openFile, lastDeliveryMs: 5 });
    for (const requestId of ['r1', 'r2']) await edge.outbox.finish(usageEvent(requestId));
    const [first = '', second = ''] = names;
    await expect.poll(() => edge.seen.damaged).toEqual([join(folder, first)]);
    expect(edge.seen.writeErrors).toBe(1);
    await edge.stop();
    expect((await readdir(folder)).toSorted()).toEqual([`${first}.damaged`, second].toSorted());
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(delivered).toEqual(['r1', 'r2']);
  });

  it('is what was in memory when its file can no longer be read', async () => {
    ledger.away = true;
    const { names, openFile } = firstFileFails('batches', () => true);
    await using edge = await startEdge({ openFile });
    for (let n = 0; n < 2_000; n++) void edge.outbox.finish(usageEvent(`r${n}`));
    await expect.poll(() => edge.seen.damaged).toEqual([join(folder, names[0] ?? '')]);
    expect(edge.seen.faults).toEqual([malformed]);
    await edge.outbox.finish(usageEvent('last'));
    ledger.away = false;
    await expect.poll(() => ledger.rows.has('last')).toBe(true);
    await expect.poll(() => edge.seen.waiting).toBe(0);
  });
});

describe('deliveries', () => {
  it('that fail are repeated after a tenth of a second, then ever later up to a second, anew after a success', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const folder = mkdtempSync(join(tmpdir(), 'outbox-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const startMs = Date.now();
    const attempts: number[] = [];
    let isAway = true;
    const record = async () => {
      attempts.push(Date.now() - startMs);
      if (isAway) throw new Error('away');
    };
    const edge = await TestEdge.start({ folder, sink: { record }, retryMs: 100, maintainMs: 3_600_000 });
    const pauses = () => attempts.slice(1).map((ms, n) => ms - (attempts[n] ?? 0));
    void edge.outbox.finish(usageEvent('r1'));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(pauses()).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
    isAway = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(edge.seen.deliveryFaults).toHaveLength(8);
    isAway = true;
    attempts.length = 0;
    void edge.outbox.finish(usageEvent('r2'));
    await vi.advanceTimersByTimeAsync(350);
    expect(pauses()).toEqual([100, 200]);
    isAway = false;
    await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    await edge.stop();
  });
});

describe('an outbox that is closed', () => {
  let folder: string;
  const never: UsageSink = { record: () => new Promise(() => undefined) };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outbox-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('waits for nothing when nothing waits', async () => {
    const edge = await TestEdge.start({ folder, sink: new FakeLedger(), lastDeliveryMs: 86_400_000 });
    await edge.outbox.finish(usageEvent('r1'));
    await edge.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it('has all on disk before it waits for the ledger a last time', async () => {
    const edge = await TestEdge.start({ folder, sink: never, maintainMs: 3_600_000 });
    void edge.outbox.finish(usageEvent('r1'));
    edge.outbox.log(create(RequestLoggedSchema, { requestId: 'r1' }));
    const stopped = edge.stop();
    expect(edge.writtenStates()).toEqual(['final', 'final']);
    await stopped;
  });

  it('cancels the delivery on its way and says why', async () => {
    const signals: AbortSignal[] = [];
    const sink: UsageSink = {
      record: (_batch, signal) => {
        signals.push(signal);
        return never.record(_batch, signal);
      },
    };
    const edge = await TestEdge.start({ folder, sink, lastDeliveryMs: 5 });
    await edge.outbox.finish(usageEvent('r1'));
    await edge.stop();
    expect(signals.map(({ reason }) => reason)).toEqual([new Error('the outbox is closed')]);
  });

  it('lets requests end, and writes nothing of them', async () => {
    const edge = await TestEdge.start({ folder, sink: new FakeLedger() });
    await edge.stop();
    const { length } = edge.writtenStates();
    await edge.outbox.finish(usageEvent('r1'));
    edge.outbox.close('r1');
    await turn();
    expect(edge.writtenStates()).toHaveLength(length);
    expect(edge.seen.writeErrors).toBe(0);
    expect(edge.outbox.log(create(RequestLoggedSchema, { requestId: 'r1' }))).toBe(false);
  });
});

/** A first file whose operation finds that it is damaged, while the condition is true. */
function firstFileFails(operation: 'write' | 'batches', isDamaged: () => boolean) {
  const names: string[] = [];
  const openFile: typeof OutboxFile.open = (path, synchronous) => {
    const file = OutboxFile.open(path, synchronous);
    if (file === undefined || names.push(basename(path)) > 1) return file;
    const original: (...given: never[]) => unknown = file[operation].bind(file);
    vi.spyOn(file, operation).mockImplementation((...given: unknown[]): never => {
      if (isDamaged()) throw malformed;
      return original(...(given as never[])) as never;
    });
    return file;
  };
  return { names, openFile };
}
