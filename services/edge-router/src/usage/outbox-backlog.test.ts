import { mkdtempSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { ended, type OutboxOptions, refusedRow, requestRow, TestEdge } from './__fixtures__/test-edge.ts';
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
    await edge.outbox.finish(requestRow('r1'));
    await expect.poll(() => edge.seen.oldestSeconds).toBeGreaterThan(0.05);
    await edge.outbox.finish(requestRow('r2'));
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
    for (let n = 0; n < 2_000; n++) void edge.outbox.finish(requestRow(`r${n}`));
    const ended = Date.now();
    await expect.poll(() => edge.seen.waiting).toBe(2_000);
    await expect.poll(() => Date.now() - ended).toBeGreaterThan(100);
    await expect.poll(() => edge.seen.oldestSeconds).toBeGreaterThan(0.1);
    expect(edge.seen.oldestSeconds).toBeLessThan(60);
  });

  it('is nothing of a request that ends without usage, not even on disk', async () => {
    const edge = await startEdge({ maintainMs: 3_600_000 });
    const row = requestRow('r1', RequestEnding.UNSPECIFIED);
    edge.outbox.open(row);
    await turn();
    edge.outbox.close(row);
    edge.outbox.close(requestRow('unknown'));
    await turn();
    expect(edge.writtenStates()).toEqual(['open', 'gone']);
    await edge.stop();
    expect([await readdir(folder), ledger.rows.size]).toEqual([[], 0]);
  });

  it('is what the disk has of a request when neither disk nor memory has room for its end', async () => {
    const edge = await startEdge({ memoryEvents: 2, lastDeliveryMs: 5 });
    const [stored, unknown] = [requestRow('stored', RequestEnding.FAILED), requestRow('unknown', RequestEnding.FAILED)];
    edge.outbox.open(stored);
    await turn();
    ledger.away = true;
    edge.isDiskFull = true;
    edge.outbox.open(unknown);
    const lost: string[] = [];
    for (const row of [requestRow('r1'), requestRow('r2'), stored, unknown, requestRow('r3')]) {
      const before = edge.seen.lost;
      await edge.outbox.finish(ended(row));
      if (edge.seen.lost > before) lost.push(row.record.requestId);
    }
    expect(lost).toEqual(['stored', 'unknown', 'r3']);
    edge.isDiskFull = false;
    ledger.away = false;
    await expect.poll(delivered).toEqual(['r1', 'r2', 'stored']);
    expect(ledger.outcomeOf('stored')).toEqual({ ending: 'FAILED', estimated: true });
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
    const open = requestRow('open', RequestEnding.FAILED);
    edge.outbox.open(open);
    await edge.outbox.finish(requestRow('r1'));
    await expect.poll(() => edge.seen.writeErrors).toBeGreaterThan(0);
    expect(await readdir(folder)).toEqual([]);
    isFull = false;
    await expect.poll(() => readdir(folder)).toContainEqual(expect.stringMatching(/\.sqlite$/));
    await edge.outbox.finish(ended(open));
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
    for (const requestId of ['r1', 'r2']) await edge.outbox.finish(requestRow(requestId));
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
    for (let n = 0; n < 2_000; n++) void edge.outbox.finish(requestRow(`r${n}`));
    await expect.poll(() => edge.seen.damaged).toEqual([join(folder, names[0] ?? '')]);
    expect(edge.seen.faults).toEqual([malformed]);
    await edge.outbox.finish(requestRow('last'));
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
    void edge.outbox.finish(requestRow('r1'));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(pauses()).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
    isAway = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(edge.seen.deliveryFaults).toHaveLength(8);
    isAway = true;
    attempts.length = 0;
    void edge.outbox.finish(requestRow('r2'));
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
    await edge.outbox.finish(requestRow('r1'));
    await edge.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it('has all on disk before it waits for the ledger a last time', async () => {
    const edge = await TestEdge.start({ folder, sink: never, maintainMs: 3_600_000 });
    void edge.outbox.finish(requestRow('r1'));
    edge.outbox.log(refusedRow('l1'));
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
    await edge.outbox.finish(requestRow('r1'));
    await edge.stop();
    expect(signals.map(({ reason }) => reason)).toEqual([new Error('the outbox is closed')]);
  });

  it('lets requests end, and writes nothing of them', async () => {
    const edge = await TestEdge.start({ folder, sink: new FakeLedger() });
    await edge.stop();
    const { length } = edge.writtenStates();
    const row = requestRow('r1');
    await edge.outbox.finish(row);
    edge.outbox.close(row);
    edge.outbox.log(refusedRow('l1'));
    await turn();
    expect(edge.writtenStates()).toHaveLength(length);
    expect(edge.seen.writeErrors).toBe(0);
    expect(edge.outbox.hasRoomForLog).toBe(false);
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
