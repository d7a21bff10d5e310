import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { RecordedAttemptSchema, RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { ended, endedUnbilled, moved, requestRow, TestEdge } from './__fixtures__/test-edge.ts';

describe('a request of several attempts', () => {
  let folder: string;
  let ledger: FakeLedger;
  /** Writes nothing by itself of what was delivered. */
  const startEdge = () => TestEdge.start({ folder, sink: ledger, maintainMs: 60_000 });
  const rows = () => [...ledger.rows.keys()].sort();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outbox-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** The next process delivers what the killed one left. */
  const replace = async (killed: TestEdge) => {
    await killed.kill();
    await using next = await TestEdge.start({ folder, sink: ledger });
    const files = async () => (await readdir(folder)).filter((name) => name.endsWith('.sqlite'));
    await expect.poll(files).toHaveLength(1);
    await expect.poll(() => next.seen.waiting).toBe(0);
  };

  it('is delivered with all of them when its process is killed during the last', async () => {
    const killed = await startEdge();
    const row = requestRow('r1', RequestEnding.FAILED);
    killed.outbox.open(row);
    await turn();
    killed.outbox.open(moved(row));
    await turn();
    await replace(killed);
    expect(rows()).toEqual(['r1', 'r1/1']);
    expect(ledger.outcomeOf('r1')).toEqual({ ending: 'UNSPECIFIED', estimated: true });
  });

  it.each([
    ['is answered by the last', (row: ReturnType<typeof requestRow>) => ended(moved(row)), ['r1', 'r1/1']],
    ['fails with one that is not billed', (row: ReturnType<typeof requestRow>) => endedUnbilled(row), ['r1/1']],
  ])('that %s has no other rows when its process is killed after its end', async (_how, end, expected) => {
    const killed = await startEdge();
    const row = requestRow('r1', RequestEnding.FAILED);
    killed.outbox.open(row);
    await turn();
    if (expected.length === 1) killed.outbox.open(moved(row));
    await turn();
    await killed.outbox.finish(end(row));
    expect(rows()).toEqual(expected);
    await replace(killed);
    expect(rows()).toEqual(expected);
  });

  it('that ends while another account is sought has no other rows when its process is killed after its end', async () => {
    const killed = await startEdge();
    const row = requestRow('r1', RequestEnding.FAILED);
    killed.outbox.open(row);
    await turn();
    row.record.attempts.push(create(RecordedAttemptSchema));
    await killed.outbox.finish(ended(row, RequestEnding.ABORTED));
    await replace(killed);
    expect(rows()).toEqual(['r1/1']);
    expect(ledger.outcomeOf('r1/1')).toEqual({ ending: 'ABORTED', estimated: false });
  });
});
