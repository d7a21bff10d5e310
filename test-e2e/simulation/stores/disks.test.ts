import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { create } from '@bufbuild/protobuf';
import { isDamage, OutboxFile, type OutboxSynchronous } from '@gateway/edge-router/usage/outbox-file';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Seeded } from '../world/seeded.ts';
import { Disks } from './disks.ts';

let folder: string;
let disks: Disks;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'disks-'));
  disks = new Disks();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, 'outbox.sqlite');

/** How many of twenty rows a failure of the power leaves; undefined: the file is damaged. */
function survivors(synchronous: OutboxSynchronous, seed: number): number | undefined {
  try {
    const file = OutboxFile.open(path(), synchronous);
    const attempts = [{}, { usage: { inputTokens: 1, outputTokens: 1 } }, { usage: { inputTokens: 3 } }];
    const record = (number: number) => create(RequestRecordedSchema, { requestId: `${number}`, attempts });
    const row = (number: number) => ({ number, state: 'final', changedAtMs: 0, record: record(number) }) as const;
    for (let number = 1; number <= 20; number++) file?.write([row(number)]);
    const restore = disks.losePower(folder, synchronous, new Seeded(seed).of('power'));
    file?.[Symbol.dispose]();
    restore();
    using opened = OutboxFile.open(path(), synchronous);
    return [...(opened?.batches({ damaged: () => undefined }) ?? [])].flat().length;
  } catch (thrown) {
    if (isDamage(thrown)) return undefined;
    throw thrown;
  }
}

describe('a disk whose power fails', () => {
  it('keeps every row with full', () => {
    for (let seed = 1; seed <= 20; seed++) {
      rmSync(path(), { force: true });
      expect(survivors('full', seed)).toBe(20);
    }
    expect(disks.unsynced.size).toBe(0);
  });

  it.each(['normal', 'off'] as const)('loses rows with %s, and names all that it may lose', (synchronous) => {
    const left = Array.from({ length: 20 }, (_, seed) => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path()}${end}`, { force: true });
      return survivors(synchronous, seed);
    });
    expect(left.some((rows) => rows !== undefined && rows < 20)).toBe(true);
    expect(left.includes(undefined)).toBe(synchronous === 'off');
    expect([disks.unsynced.get('20'), disks.unsynced.get('20/2')]).toEqual([3, 2]);
  });

  it('may fail twice, although the first failure damaged a file', () => {
    new DatabaseSync(path()).close();
    disks.losePower(folder, 'off', new Seeded(1).of('power'))();
    expect(() => disks.losePower(folder, 'off', new Seeded(2).of('power'))()).not.toThrow();
  });
});

describe('a disk that is full', () => {
  it('takes nothing of its process, and loses what only memory has when the process ends', () => {
    disks.fill('edge-1', 100);
    const write = (owner: string, sql: string) =>
      disks.write({ owner, sql, database: new DatabaseSync(':memory:') }, () => 'done');
    expect(() => write('edge-1', 'REPLACE INTO rows')).toThrow('full');
    expect([write('edge-1', 'SELECT 1'), write('edge-2', 'REPLACE INTO rows')]).toEqual(['done', 'done']);
    disks.noteEnd('edge-2', 200);
    disks.noteEnd('edge-1', 200);
    expect(disks.memoryLosses).toEqual([{ process: 'edge-1', fromMs: 100, untilMs: 200 }]);
    disks.free(300);
    expect(write('edge-1', 'REPLACE INTO rows')).toBe('done');
    disks.noteEnd('edge-1', 10_000);
    expect(disks.memoryLosses).toHaveLength(1);
  });
});
