import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { logged, type OutboxOptions, refused, refusedRow, requestRow, TestEdge } from './__fixtures__/test-edge.ts';

describe('what is for the request log', () => {
  let folder: string;
  let ledger: FakeLedger;
  const startEdge = (options: Partial<OutboxOptions> = {}) => TestEdge.start({ folder, sink: ledger, ...options });
  const files = async () => (await readdir(folder)).filter((name) => name.endsWith('.sqlite'));

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outbox-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('goes with usage, also from a process that died, and finds no room while the disk is full', async () => {
    const killed = await startEdge({ sink: { record: () => new Promise(() => undefined) } } as Partial<OutboxOptions>);
    expect(killed.outbox.hasRoomForLog).toBe(true);
    killed.outbox.log(refusedRow('l1'));
    await killed.outbox.finish(logged(requestRow('r1')));
    expect(killed.outbox.hasRoomForLog).toBe(true);
    await sleep(10);
    await killed.kill();
    await using edge = await startEdge();
    await expect.poll(() => [...ledger.logs.keys()].sort()).toEqual(['l1', 'r1']);
    expect([...ledger.rows.keys()]).toEqual(['r1']);
    edge.isDiskFull = true;
    const row = requestRow('r2');
    edge.outbox.open(row);
    await expect.poll(() => edge.seen.writeErrors).toBeGreaterThan(0);
    await edge.outbox.finish(row);
    expect(edge.outbox.hasRoomForLog).toBe(false);
  });

  it('is of a request without usage, however soon after its end the process is killed', async () => {
    const killed = await startEdge({ maintainMs: 60_000 });
    await killed.outbox.finish(requestRow('r1'));
    const [row, early] = [requestRow('l1'), requestRow('l2')];
    killed.outbox.open(row);
    await turn();
    killed.outbox.log(refused(row));
    killed.outbox.open(early);
    killed.outbox.log(refused(early));
    await turn();
    await killed.kill();
    await using next = await startEdge();
    await expect.poll(() => next.seen.waiting).toBe(0);
    await expect.poll(files).toHaveLength(1);
    expect([...ledger.rows.keys()]).toEqual(['r1']);
    expect([...ledger.logs.keys()]).toEqual(['l1']);
  });

  it('waits for the next usage if it has none, or until the outbox is closed', async () => {
    const edge = await startEdge({ maintainMs: 60_000 });
    await edge.outbox.finish(requestRow('r1'));
    edge.outbox.log(refusedRow('l1'));
    for (let turns = 0; turns < 20; turns++) await turn();
    expect([ledger.logs.size, edge.writtenStates()]).toEqual([0, []]);
    await edge.outbox.finish(requestRow('r2'));
    expect([...ledger.logs.keys()]).toEqual(['l1']);
    edge.outbox.log(refusedRow('l2'));
    await edge.stop();
    expect([...ledger.logs.keys()]).toEqual(['l1', 'l2']);
    expect(await readdir(folder)).toEqual([]);
  });

  it('finds no room with 20,000 rows to deliver: the room is for usage', async () => {
    ledger.away = true;
    await using edge = await startEdge();
    for (let n = 1; n < 20_000; n++) void edge.outbox.finish(requestRow(`r${n}`));
    expect(edge.outbox.hasRoomForLog).toBe(true);
    edge.outbox.log(refusedRow('l1'));
    expect(edge.outbox.hasRoomForLog).toBe(false);
    await edge.outbox.finish(requestRow('last'));
    await expect.poll(() => edge.seen.waiting).toBe(20_001);
    expect(edge.outbox.hasRoomForLog).toBe(false);
    ledger.away = false;
    await expect.poll(() => edge.seen.waiting).toBe(0);
    expect(ledger.rows.size).toBe(20_000);
    expect([...ledger.logs.keys()]).toEqual(['l1']);
    expect(edge.outbox.hasRoomForLog).toBe(true);
  });
});
