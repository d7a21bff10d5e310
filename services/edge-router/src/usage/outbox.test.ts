import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { ended, type OutboxOptions, requestRow, TestEdge } from './__fixtures__/test-edge.ts';

describe('Outbox', () => {
  let folder: string;
  let ledger: FakeLedger;
  const startEdge = (options: Partial<OutboxOptions> = {}) => TestEdge.start({ folder, sink: ledger, ...options });
  const files = async () => (await readdir(folder)).filter((name) => name.endsWith('.sqlite'));
  const delivered = () => [...ledger.rows.keys()].sort();
  /** A request without an answer so far. */
  const running = (requestId: string) => requestRow(requestId, RequestEnding.UNSPECIFIED);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outbox-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('delivers a finished request, and leaves nothing behind', async () => {
    const edge = await startEdge();
    const row = running('r1');
    edge.outbox.open(row);
    await edge.outbox.finish(ended(row));
    await expect.poll(delivered).toEqual(['r1']);
    await edge.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it('keeps what could not be delivered for the next process', async () => {
    ledger.away = true;
    const first = await startEdge({ lastDeliveryMs: 5 });
    await first.outbox.finish(requestRow('r1'));
    await first.stop();
    expect(delivered()).toEqual([]);
    ledger.away = false;
    await using _second = await startEdge();
    await expect.poll(delivered).toEqual(['r1']);
    await expect.poll(files).toHaveLength(1);
  });

  it('delivers a request not before it is charged, and has it whole when the process is killed meanwhile', async () => {
    const edge = await startEdge();
    const rows = [running('r1'), running('r2')] as const;
    for (const row of rows) edge.outbox.open(row);
    const charges = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const finished = edge.outbox.finish(ended(rows[0]), charges[0].promise);
    void edge.outbox.finish(ended(rows[1]), charges[1].promise);
    await sleep(20);
    expect(delivered()).toEqual([]);
    charges[0].resolve();
    await finished;
    expect(delivered()).toEqual(['r1']);
    await edge.kill();
    await using _next = await startEdge();
    await expect.poll(delivered).toEqual(['r1', 'r2']);
    expect(ledger.outcomeOf('r2')).toEqual({ ending: 'COMPLETED', estimated: false });
  });

  it('takes open requests of a killed process for failed or lost, unless they had ended', async () => {
    const killed = await startEdge();
    const { outbox } = killed;
    const [unanswered, cut, closed, done] = [running('unanswered'), running('cut'), running('closed'), running('done')];
    for (const row of [unanswered, cut, closed, done]) outbox.open(row);
    outbox.open(ended(cut, RequestEnding.FAILED));
    outbox.close(closed);
    ledger.away = true;
    await outbox.finish(ended(done));
    await killed.kill();
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(delivered).toEqual(['cut', 'done', 'unanswered']);
    expect(ledger.outcomeOf('done')).toEqual({ ending: 'COMPLETED', estimated: false });
    expect(ledger.outcomeOf('cut')).toEqual({ ending: 'FAILED', estimated: true });
    expect(ledger.outcomeOf('unanswered')).toEqual({ ending: 'UNSPECIFIED', estimated: true });
  });

  it('takes over what a neighbour leaves when it dies, without anything being started', async () => {
    await using neighbour = await startEdge();
    ledger.away = true;
    const killed = await startEdge();
    await killed.outbox.finish(requestRow('r1'));
    expect(await files()).toHaveLength(2);
    await killed.kill();
    ledger.away = false;
    await expect.poll(delivered).toEqual(['r1']);
    await expect.poll(files).toHaveLength(1);
    expect(neighbour.seen).toMatchObject({ damaged: [], faults: [] });
  });

  it('leaves the files of other living processes alone', async () => {
    ledger.away = true;
    await using owner = await startEdge({ lastDeliveryMs: 5 });
    await owner.outbox.finish(requestRow('r1'));
    const other = new FakeLedger();
    await using _neighbour = await startEdge({ sink: other } as Partial<OutboxOptions>);
    await sleep(30);
    expect(await files()).toHaveLength(2);
    expect(other.rows.size).toBe(0);
  });

  it('keeps thousands of requests while the ledger is away, and delivers them in batches', async () => {
    ledger.away = true;
    await using edge = await startEdge();
    for (let n = 0; n < 3_000; n++) void edge.outbox.finish(requestRow(`r${n}`));
    await edge.outbox.finish(requestRow('last'));
    await expect.poll(() => edge.seen.waiting).toBe(3_001);
    ledger.away = false;
    await expect.poll(() => ledger.rows.size).toBe(3_001);
    expect(ledger.largestBatch).toBeLessThanOrEqual(500);
    await expect.poll(() => edge.seen.waiting).toBe(0);
  });

  it('is not stopped by an answer that gets lost', async () => {
    ledger.mute = true;
    await using edge = await startEdge();
    for (let n = 0; n < 50; n++) await edge.outbox.finish(requestRow(`r${n}`));
    ledger.mute = false;
    await expect.poll(() => ledger.rows.size).toBe(50);
    await expect.poll(() => edge.seen.waiting).toBe(0);
  });

  it('delivers from memory while the disk is full, and counts what finds no room', async () => {
    await using edge = await startEdge({ memoryEvents: 10, lastDeliveryMs: 5 });
    edge.isDiskFull = true;
    await edge.outbox.finish(requestRow('r0'));
    await expect.poll(delivered).toEqual(['r0']);
    ledger.away = true;
    for (let n = 1; n <= 30; n++) await edge.outbox.finish(requestRow(`r${n}`));
    expect(edge.seen.writeErrors).toBeGreaterThan(0);
    expect(edge.seen.lost).toBe(20);
    edge.isDiskFull = false;
    await expect.poll(() => edge.seen.waiting).toBe(10);
    await edge.kill();
    ledger.away = false;
    await using _next = await startEdge();
    await expect.poll(() => ledger.rows.size).toBe(11);
  });

  it('sets a damaged file aside, and goes on', async () => {
    await writeFile(join(folder, 'old.sqlite'), 'no database, but long enough to be taken for one'.repeat(100));
    await using edge = await startEdge();
    await expect.poll(() => edge.seen.damaged).toHaveLength(1);
    expect(await readdir(folder)).toContain('old.sqlite.damaged');
    await edge.outbox.finish(requestRow('r1'));
    await expect.poll(delivered).toEqual(['r1']);
  });

  it.each([
    ['of other tables', 'CREATE TABLE open_requests (a); CREATE TABLE finals (a); INSERT INTO finals VALUES (1);'],
    ['of another version', 'CREATE TABLE rows (number INTEGER PRIMARY KEY); PRAGMA user_version = 1;'],
  ])('sets a file %s aside, as a damaged one: another build wrote it', async (_what, sql) => {
    const path = join(folder, 'old.sqlite');
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA journal_mode = WAL; ${sql}`);
    database.close();
    await using edge = await startEdge();
    await expect.poll(() => edge.seen.damaged).toEqual([path]);
    expect(await readdir(folder)).toContain('old.sqlite.damaged');
  });

  it('refuses a folder that it can’t write', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(startEdge({ folder: join(folder, 'file', 'below') })).rejects.toThrow(/ENOTDIR/);
  });

  it('waits longer after each failed delivery', async () => {
    ledger.away = true;
    await using edge = await startEdge({ retryMs: 20 });
    await edge.outbox.finish(requestRow('r1'));
    await sleep(150);
    expect(edge.seen.deliveryFaults.length).toBeLessThanOrEqual(4);
    ledger.away = false;
    await expect.poll(delivered).toEqual(['r1']);
  });

  it('stops in time, even when the sink never answers', async () => {
    const edge = await startEdge({ sink: { record: () => new Promise(() => undefined) } } as Partial<OutboxOptions>);
    await edge.outbox.finish(requestRow('r1'));
    await edge.stop();
    expect(edge.seen.deliveryFaults).toEqual([]);
    await using _next = await startEdge();
    await expect.poll(delivered).toEqual(['r1']);
  });

  it('keeps its folder and its files for its own user', async () => {
    await chmod(folder, 0o755);
    await using edge = await startEdge();
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    await edge.outbox.finish(requestRow('r1'));
    for (const name of await readdir(folder)) expect((await stat(join(folder, name))).mode & 0o777, name).toBe(0o600);
  });

  it('reads a damaged file again that got its name back', async () => {
    ledger.away = true;
    const killed = await startEdge();
    await killed.outbox.finish(requestRow('r1'));
    await killed.kill();
    const [name = ''] = await files();
    await rename(join(folder, name), join(folder, `${name}.damaged`));
    await rename(join(folder, `${name}-wal`), join(folder, `${name}-wal.damaged`)).catch(() => undefined);
    ledger.away = false;
    await using _next = await startEdge();
    await sleep(20);
    expect(delivered()).toEqual([]);
    await rename(join(folder, `${name}-wal.damaged`), join(folder, `${name}-wal`)).catch(() => undefined);
    await rename(join(folder, `${name}.damaged`), join(folder, name));
    await expect.poll(delivered).toEqual(['r1']);
  });

  it('has delivered a request when its end resolves', async () => {
    await using edge = await startEdge();
    for (let n = 0; n < 20; n++) {
      await edge.outbox.finish(requestRow(`r${n}`));
      expect(ledger.rows.has(`r${n}`)).toBe(true);
    }
  });

  it('writes nothing of an end that is delivered at once but that its open row is gone', async () => {
    const edge = await startEdge({ maintainMs: 60_000 });
    const row = running('r1');
    edge.outbox.open(row);
    await turn();
    const kinds = edge.writtenStates();
    await edge.outbox.finish(ended(row));
    expect(delivered()).toEqual(['r1']);
    await edge.stop();
    expect(kinds).toEqual(['open', 'gone']);
  });

  it('has an end on disk that the ledger takes its time for', async () => {
    const edge = await startEdge({ sink: { record: () => new Promise(() => undefined) } } as Partial<OutboxOptions>);
    const row = running('r1');
    edge.outbox.open(row);
    void edge.outbox.finish(ended(row));
    await expect.poll(() => edge.writtenStates()).toContain('final');
    await edge.kill();
    await using _next = await startEdge();
    await expect.poll(delivered).toEqual(['r1']);
    expect(ledger.outcomeOf('r1')).toEqual({ ending: 'COMPLETED', estimated: false });
  });

  it('lets requests end while the ledger is away or late, and waits for it again when it is back', {
    retry: 2,
  }, async () => {
    ledger.away = true;
    await using edge = await startEdge();
    await edge.outbox.finish(requestRow('r0'));
    const startedMs = performance.now();
    for (let n = 1; n <= 20; n++) await edge.outbox.finish(requestRow(`r${n}`));
    expect(performance.now() - startedMs).toBeLessThan(250 * inject('slowness'));
    ledger.away = false;
    await expect.poll(() => ledger.rows.size).toBe(21);
    await edge.outbox.finish(requestRow('last'));
    expect(ledger.rows.has('last')).toBe(true);
    const stuck = startEdge({ sink: { record: () => new Promise(() => undefined) } } as Partial<OutboxOptions>);
    await using late = await stuck;
    const stuckMs = performance.now();
    for (let n = 1; n <= 20; n++) await late.outbox.finish(requestRow(`late${n}`));
    expect(performance.now() - stuckMs).toBeLessThan(2_000 * inject('slowness'));
  });

  describe('of a process that died', () => {
    /** An edge that was killed with this request finished, and another one open. */
    const leaveBehind = async (requestId: string) => {
      const edge = await startEdge({ sink: { record: () => new Promise(() => undefined) } } as Partial<OutboxOptions>);
      edge.outbox.open(requestRow(`cut-${requestId}`, RequestEnding.FAILED));
      await edge.outbox.finish(requestRow(requestId));
      await edge.kill();
    };

    it('is taken over by one only of two that start at once', async () => {
      await leaveBehind('r1');
      const ledgers = [new FakeLedger(), new FakeLedger()];
      const start = (sink: FakeLedger) => startEdge({ sink } as Partial<OutboxOptions>);
      const edges = await Promise.all(ledgers.map(start));
      await expect.poll(() => ledgers.flatMap(({ rows }) => [...rows.keys()]).sort()).toEqual(['cut-r1', 'r1']);
      await Promise.all(edges.map((edge) => edge.stop()));
      expect(ledgers.some(({ rows }) => rows.size === 0)).toBe(true);
      expect(await readdir(folder)).toEqual([]);
    });

    it('is taken over by the third when the second is killed as well', async () => {
      await leaveBehind('r1');
      await leaveBehind('r2');
      ledger.away = true;
      const second = await startEdge();
      await second.outbox.finish(requestRow('r3'));
      await second.kill();
      ledger.away = false;
      await using _third = await startEdge();
      await expect.poll(delivered).toEqual(['cut-r1', 'cut-r2', 'r1', 'r2', 'r3']);
      expect(ledger.outcomeOf('cut-r1')).toEqual({ ending: 'FAILED', estimated: true });
      await expect.poll(files).toHaveLength(1);
    });

    const startProcess = async (requestId: string): Promise<ChildProcess> => {
      const path = join(import.meta.dirname, '__fixtures__/edge-process.ts');
      const child = spawn(process.execPath, [path, folder, requestId], { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(child.stdout, 'data');
      return child;
    };

    it('is free as soon as a true process is killed, and not before, however long it sleeps', async () => {
      const child = await startProcess('r1');
      child.kill('SIGSTOP');
      await using _edge = await startEdge();
      await sleep(50);
      expect(ledger.rows.size).toBe(0);
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await expect.poll(delivered).toEqual(['r1']);
      await expect.poll(files).toHaveLength(1);
    });
  });
});
