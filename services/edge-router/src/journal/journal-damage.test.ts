import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeLedger } from './__fixtures__/fake-ledger.ts';
import { TestEdge, usageEvent } from './__fixtures__/test-edge.ts';
import { finalLine, openLine } from './journal-record.ts';

const final = (requestId: string) => finalLine(usageEvent(requestId));
const open = (requestId: string) => openLine(usageEvent(requestId, Outcome.FAILED));

describe('a damaged journal', () => {
  let folder: string;
  let ledger: FakeLedger;
  const startEdge = () => TestEdge.start({ folder, sink: ledger });
  const leave = (name: string, ...lines: (string | Buffer)[]) =>
    writeFile(join(folder, name), Buffer.concat(lines.map((line) => Buffer.from(line))));
  const delivered = () => [...ledger.rows.keys()].sort();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'journal-'));
    ledger = new FakeLedger();
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('loses only the line that its process did not finish writing', async () => {
    await leave('a-0.journal', final('r1'), final('r2').slice(0, 40));
    await using edge = await startEdge();
    await expect.poll(delivered).toEqual(['r1']);
    await expect.poll(() => readdir(folder)).not.toContain('a-0.journal');
    expect(edge.told.damage).toEqual(['torn']);
    expect(await readdir(folder)).not.toContain('a-0.journal.corrupt');
  });

  it.each([
    ['of zeros', Buffer.alloc(3_000)],
    ['that is no JSON', 'F {"requestId":"r2","inputTok\n'],
    ['of another shape', 'F {"requestId":7}\n'],
    ['without an id', 'F {"tokenId":"t"}\n'],
    ['of an unknown kind', 'X {"requestId":"r2"}\n'],
    ['of nothing', '\n'],
    ['that never ends', Buffer.alloc(3 * 1024 * 1024, 'x')],
  ])('loses only a line %s, and the file is kept aside', async (_, line) => {
    await leave('a-0.journal', final('r1'), line, '\n', final('r3'));
    await using edge = await startEdge();
    await expect.poll(delivered).toEqual(['r1', 'r3']);
    await expect.poll(() => readdir(folder)).toContain('a-0.journal.corrupt');
    expect(edge.told.damage).toContain('corrupt');
    expect(await readdir(folder)).not.toContain('a-0.journal');
    expect(await readFile(join(folder, 'a-0.journal.corrupt'), 'utf8')).toContain('"r1"');
  });

  it('does not book an open line that can not be read', async () => {
    await leave('a-0.journal', open('r1').replace('"tokenId"', 'tokenId'), open('r2'));
    await using edge = await startEdge();
    await expect.poll(delivered).toEqual(['r2']);
    await expect.poll(() => readdir(folder)).toContain('a-0.journal.corrupt');
    expect(edge.told.damage).toEqual(['corrupt']);
  });

  it('takes lines of a later version with more in them', async () => {
    await leave('a-0.journal', final('r1').replace('{', '{"newThing":{"a":1},'));
    await using edge = await startEdge();
    await expect.poll(delivered).toEqual(['r1']);
    expect(edge.told.damage).toEqual([]);
  });

  it('is kept aside when it can not be read at all, and holds up no other', { timeout: 20_000 }, async () => {
    await mkdir(join(folder, 'a-0.journal'));
    await symlink(join(folder, 'loop.journal'), join(folder, 'loop.journal'));
    await leave('b-0.journal', final('r1'));
    await using edge = await startEdge();
    await edge.tend();
    await expect.poll(delivered, { timeout: 10_000 }).toEqual(['r1']);
    await expect.poll(() => readdir(folder), { timeout: 10_000 }).toContain('a-0.journal.corrupt');
    expect(edge.told.faults.length).toBeGreaterThan(0);
  });

  it('is read again when a person gives it its name back', async () => {
    await leave('a-0.journal.corrupt', final('r1'));
    await using edge = await startEdge();
    await edge.tend();
    expect(delivered()).toEqual([]);
    await leave('a-0.journal', final('r1'));
    await edge.tend();
    await expect.poll(delivered).toEqual(['r1']);
  });
});
