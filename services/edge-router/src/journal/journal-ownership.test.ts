import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Outcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { TestEdge, usageEvent } from './__fixtures__/test-edge.ts';
import { finalLine } from './journal-record.ts';
import type { UsageSink } from './usage-delivery.ts';

/** Counts what each process sends, whether the ledger takes it or not. */
class CountingSink implements UsageSink {
  readonly sent: string[] = [];
  readonly #ledger: FakeLedger;

  constructor(ledger: FakeLedger) {
    this.#ledger = ledger;
  }

  record(events: readonly UsageRecorded[]): Promise<void> {
    this.sent.push(...events.map(({ requestId }) => requestId));
    return this.#ledger.record(events);
  }
}

describe('journals of several processes in one folder', () => {
  let folder: string;
  let ledger: FakeLedger;
  const startEdge = (sink: UsageSink = ledger) => TestEdge.start({ folder, sink });
  const files = (ending: string) => async () => (await readdir(folder)).filter((name) => name.endsWith(ending));
  const journals = files('.journal');

  /** An edge that was killed with these requests finished, and one open. */
  const leaveBehind = async (...requestIds: string[]) => {
    const edge = await startEdge({ record: () => new Promise(() => undefined) });
    for (const requestId of requestIds) await edge.journal.finish(usageEvent(requestId));
    edge.journal.open(usageEvent(`cut-${requestIds[0]}`, Outcome.FAILED));
    await edge.disk.whenQuiet();
    edge.kill();
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'journal-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('leave each other alone while they live', async () => {
    ledger.away = true;
    await using _one = await startEdge();
    await _one.journal.finish(usageEvent('r1'));
    const sink = new CountingSink(new FakeLedger());
    await using other = await startEdge(sink);
    await other.tend();
    expect(await journals()).toHaveLength(2);
    expect(sink.sent).toEqual([]);
    ledger.away = false;
  });

  it('are taken over by a neighbour when their process dies, without anything being started', async () => {
    await using neighbour = await startEdge();
    await leaveBehind('r1');
    await neighbour.tend();
    await expect.poll(() => [...ledger.rows.keys()].sort()).toEqual(['cut-r1', 'r1']);
    await expect.poll(journals).toHaveLength(1);
    await neighbour.tend();
    expect(await files('.lock')()).toHaveLength(1);
  });

  it('are claimed by one only of two that start at once', async () => {
    await leaveBehind('r1', 'r2');
    const sinks = [new CountingSink(ledger), new CountingSink(ledger)];
    const edges = await Promise.all(sinks.map(startEdge));
    await expect.poll(() => ledger.rows.size).toBe(3);
    await Promise.all(edges.map((edge) => edge.stop()));
    expect(sinks.flatMap(({ sent }) => sent).sort()).toEqual(['cut-r1', 'r1', 'r2']);
    expect(sinks.some(({ sent }) => sent.length === 0)).toBe(true);
    expect(await readdir(folder)).toEqual([]);
  });

  it('whose taker-over is killed as well are picked up by the third', async () => {
    await leaveBehind('r1');
    await leaveBehind('r2');
    ledger.away = true;
    const second = await startEdge();
    await second.journal.finish(usageEvent('r3'));
    second.kill();
    ledger.away = false;
    await using _third = await startEdge();
    await expect.poll(() => [...ledger.rows.keys()].sort()).toEqual(['cut-r1', 'cut-r2', 'r1', 'r2', 'r3']);
    expect(ledger.rows.get('cut-r1')).toMatchObject({ outcome: Outcome.FAILED, estimated: true });
    await expect.poll(journals).toHaveLength(1);
  });

  it('are picked up from one that stopped in the middle of it', async () => {
    await leaveBehind('r1');
    ledger.away = true;
    const second = await startEdge();
    await second.stop();
    ledger.away = false;
    await using _third = await startEdge();
    await expect.poll(() => [...ledger.rows.keys()].sort()).toEqual(['cut-r1', 'r1']);
  });

  it('are found without a lock file, and whatever else their names say', async () => {
    await writeFile(join(folder, '1-5f3c.journal'), finalLine(usageEvent('r1')));
    await writeFile(join(folder, 'x.journal'), finalLine(usageEvent('r2')));
    await writeFile(join(folder, 'notes.txt'), 'not a journal');
    await using edge = await startEdge();
    await expect.poll(() => [...ledger.rows.keys()].sort()).toEqual(['r1', 'r2']);
    await expect.poll(journals).toHaveLength(1);
    await edge.tend();
    expect((await readdir(folder)).sort()).toHaveLength(3);
  });

  describe('of true processes', () => {
    const startProcess = async (requestId: string): Promise<ChildProcess> => {
      const path = join(import.meta.dirname, '__fixtures__/edge-process.ts');
      const child = spawn(process.execPath, [path, folder, requestId], { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(child.stdout, 'data');
      return child;
    };
    const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    };

    it('are free as soon as their process is killed, and not before, however long it sleeps', async () => {
      const child = await startProcess('r1');
      child.kill('SIGSTOP');
      await using edge = await startEdge();
      await edge.tend();
      expect(ledger.rows.size).toBe(0);
      await end(child, 'SIGKILL');
      await edge.tend();
      await expect.poll(() => [...ledger.rows.keys()]).toEqual(['r1']);
      await expect.poll(journals).toHaveLength(1);
    });

    it('pass from one to the next', async () => {
      await end(await startProcess('r1'), 'SIGKILL');
      await end(await startProcess('r2'), 'SIGKILL');
      await using _edge = await startEdge();
      await expect.poll(() => [...ledger.rows.keys()].sort()).toEqual(['r1', 'r2']);
    });
  });
});
