import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { requestRow } from './__fixtures__/test-edge.ts';
import type { OutboxEvents } from './outbox-events.ts';
import { abandonedRows, bytesIn, isDamage, OutboxFile } from './outbox-file.ts';
import type { StoredRow } from './outbox-row.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outbox-rows-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const pathOf = (name: string) => join(folder, `${name}.sqlite`);
const row = (number: number, state: StoredRow['state'] = 'final', changedAtMs = number): StoredRow => {
  const { record } = requestRow(`r${number}`);
  return { number, state, changedAtMs, record };
};
const silent = { damaged: () => expect.fail('nothing is damaged') };
const numbersIn = (file: OutboxFile, events: Pick<OutboxEvents, 'damaged'> = silent) =>
  [...file.batches(events)].map((rows) => rows.map(({ number }) => number));

function open(path: string): OutboxFile {
  return OutboxFile.open(path, 'off') ?? expect.fail('another process holds it');
}

describe('the rows in a file of the outbox', () => {
  it('are after any writes those of the last write of each number', () => {
    using file = open(pathOf('a'));
    const expected = new Map<number, number>();
    const state = fc.constantFrom('open', 'final', 'gone');
    const write = fc.array(fc.record({ number: fc.integer({ min: 1, max: 9 }), state, atMs: fc.nat(1_000) }));
    fc.assert(
      fc.property(write, (rows) => {
        file.write(rows.map(({ number, state, atMs }) => row(number, state, atMs)));
        for (const { number, state, atMs } of rows) {
          if (state === 'gone') expected.delete(number);
          else expected.set(number, atMs);
        }
        const read = [...file.batches(silent)].flat();
        expect(read.map(({ number, changedAtMs }) => [number, changedAtMs])).toEqual(
          [...expected].toSorted(([one], [other]) => one - other),
        );
        expect(read.every((each) => each.state === 'final')).toBe(true);
        expect(file.isEmpty).toBe(expected.size === 0);
      }),
    );
  });

  it('are read in order, 500 at a time', () => {
    using file = open(pathOf('a'));
    const numbers = Array.from({ length: 1_100 }, (_, n) => n + 1);
    file.write(numbers.toReversed().map((number) => row(number)));
    const batches = numbersIn(file);
    expect(batches.flat()).toEqual(numbers);
    expect(batches.map(({ length }) => length)).toEqual([500, 500, 100]);
  });

  it('are all written, or none', () => {
    using file = open(pathOf('a'));
    file.write([row(1)]);
    const failing = { ...row(3), record: null as unknown as StoredRow['record'] };
    expect(() => file.write([row(2), failing])).toThrow(TypeError);
    expect(numbersIn(file)).toEqual([[1]]);
    file.write([row(2)]);
    expect(numbersIn(file)).toEqual([[1, 2]]);
  });

  it('are those of before when the disk is full, which is what the caller learns', () => {
    const opening = vi.spyOn(DatabaseSync.prototype, 'exec');
    using file = open(pathOf('a'));
    const database = opening.mock.contexts[0] as DatabaseSync;
    opening.mockRestore();
    file.write([row(1)]);
    database.exec('PRAGMA max_page_count = 1');
    const many = Array.from({ length: 1_000 }, (_, n) => row(n + 2));
    expect(() => file.write(many)).toThrow('database or disk is full');
    expect(numbersIn(file)).toEqual([[1]]);
    database.exec('PRAGMA max_page_count = 1000000');
    file.write([row(2)]);
    expect(numbersIn(file)).toEqual([[1, 2]]);
  });

  it('are as old as the first one that is final', () => {
    using file = open(pathOf('a'));
    expect(file.oldestMs).toBeUndefined();
    file.write([row(1, 'open', 10)]);
    expect(file.oldestMs).toBeUndefined();
    file.write([row(2, 'final', 30), row(3, 'final', 20)]);
    expect(file.oldestMs).toBe(30);
  });

  it('say in the file whether their requests had ended', () => {
    const writer = open(pathOf('a'));
    writer.write([row(1, 'open'), row(2, 'final'), row(3, 'open'), row(4)]);
    writer.write([row(3, 'final'), row(4, 'gone')]);
    writer[Symbol.dispose]();
    using database = new DatabaseSync(pathOf('a'));
    const kinds = database.prepare('SELECT kind FROM rows ORDER BY number').all();
    expect(kinds.map(({ kind }) => kind)).toEqual(['open', 'final', 'final']);
  });

  it('are removed and counted when they can’t be read', () => {
    const path = pathOf('a');
    const writer = open(path);
    writer.write([1, 2, 3, 4].map((number) => row(number)));
    writer[Symbol.dispose]();
    const database = new DatabaseSync(path);
    database.exec(`UPDATE rows SET record = x'ff' WHERE number IN (2, 4)`);
    database.close();
    using file = open(path);
    const damaged: unknown[] = [];
    expect(numbersIn(file, { damaged: (...what) => damaged.push(what) })).toEqual([[1, 3]]);
    expect(damaged).toEqual([[path, 2]]);
    expect(numbersIn(file)).toEqual([[1, 3]]);
  });
});

describe('a file of the outbox', () => {
  it('belongs to one process, until that closes it', () => {
    const owner = open(pathOf('a'));
    owner.write([row(1)]);
    expect(OutboxFile.open(pathOf('a'), 'off')).toBeUndefined();
    owner[Symbol.dispose]();
    owner[Symbol.dispose]();
    using heir = open(pathOf('a'));
    expect(numbersIn(heir)).toEqual([[1]]);
  });

  it('is gone when it is removed, with all that belongs to it', async () => {
    const file = open(pathOf('a'));
    file.write([row(1)]);
    file.remove();
    expect(await readdir(folder)).toEqual([]);
    expect(() => file.write([row(2)])).toThrow();
    const bare = open(pathOf('b'));
    rmSync(`${pathOf('b')}-wal`, { force: true });
    bare.remove();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is created under another name when another process took it for abandoned', () => {
    const paths: string[] = [];
    const openFile: typeof OutboxFile.open = (path, synchronous) => {
      paths.push(path);
      return paths.length < 3 ? undefined : OutboxFile.open(path, synchronous);
    };
    using file = OutboxFile.create({ folder, synchronous: 'normal', openFile, events: {} as OutboxEvents });
    expect(new Set(paths).size).toBe(3);
    expect(file.path).toBe(paths.at(-1));
    expect(file.path).toMatch(/\.sqlite$/);
  });

  it('is damaged when it is no database, or that of another build, and not for other faults', () => {
    const damageOf = (path: string) => {
      try {
        OutboxFile.open(path, 'off');
        return 'none';
      } catch (thrown) {
        return isDamage(thrown);
      }
    };
    writeFileSync(pathOf('text'), 'no database, but long enough to be taken for one'.repeat(100));
    const other = new DatabaseSync(pathOf('other'));
    other.exec('CREATE TABLE rows (number INTEGER PRIMARY KEY); PRAGMA user_version = 1;');
    other.close();
    expect(() => OutboxFile.open(pathOf('other'), 'off')).toThrow('the outbox has schema 1');
    expect([damageOf(pathOf('text')), damageOf(pathOf('other')), damageOf(pathOf('new'))]).toEqual([
      true,
      true,
      'none',
    ]);
    expect(() => OutboxFile.open(join(folder, 'missing/a.sqlite'), 'off')).toThrow();
    for (const fault of [
      new Error('other'),
      Object.assign(new Error('full'), { errcode: 13 }),
      undefined,
      { errcode: 11 },
    ])
      expect(isDamage(fault)).toBe(false);
    // An extended code of SQLITE_CORRUPT.
    expect(isDamage(Object.assign(new Error('corrupt'), { errcode: 11 + 256 }))).toBe(true);
  });

  it('is moved aside with its log, for inspection', async () => {
    for (const name of ['a.sqlite', 'a.sqlite-wal', 'b.sqlite']) writeFileSync(join(folder, name), 'x');
    const damaged: unknown[] = [];
    for (const name of ['a', 'b']) OutboxFile.setAside(pathOf(name), { damaged: (...what) => damaged.push(what) });
    expect((await readdir(folder)).toSorted()).toEqual([
      'a.sqlite-wal.damaged',
      'a.sqlite.damaged',
      'b.sqlite.damaged',
    ]);
    expect(damaged).toEqual([
      [pathOf('a'), undefined],
      [pathOf('b'), undefined],
    ]);
  });
});

describe('what dead processes left', () => {
  it('is taken from every file but the own, those in use and other files, and each is removed', async () => {
    for (const name of ['a', 'b']) {
      using file = open(pathOf(name));
      file.write([row(1), row(2)]);
    }
    writeFileSync(join(folder, 'notes.txt'), '');
    writeFileSync(pathOf('damaged'), 'no database, but long enough to be taken for one'.repeat(100));
    using own = open(pathOf('own'));
    using used = open(pathOf('used'));
    for (const file of [own, used]) file.write([row(3)]);
    const [faults, damaged]: [unknown[], string[]] = [[], []];
    const events = {
      faulted: (fault: unknown) => faults.push(fault),
      damaged: (path: string) => damaged.push(path),
    } as unknown as OutboxEvents;
    const taken: number[] = [];
    const options = { folder, synchronous: 'off' as const, openFile: OutboxFile.open, events };
    for await (const rows of abandonedRows(options, own.path)) taken.push(...rows.map(({ number }) => number));
    expect(taken).toEqual([1, 2, 1, 2]);
    expect([faults.length, damaged]).toEqual([1, [pathOf('damaged')]]);
    const names = (await readdir(folder)).filter((name) => !name.endsWith('-wal'));
    expect(names.toSorted()).toEqual(['damaged.sqlite.damaged', 'notes.txt', 'own.sqlite', 'used.sqlite']);
  });

  it('stays where it is when it can’t be read for a reason that passes', async () => {
    open(pathOf('a'))[Symbol.dispose]();
    const full = Object.assign(new Error('disk is full'), { errcode: 13 });
    const openFile = () => {
      throw full;
    };
    const faults: unknown[] = [];
    const events = { faulted: (fault: unknown) => faults.push(fault) } as unknown as OutboxEvents;
    for await (const rows of abandonedRows({ folder, synchronous: 'off', openFile, events }, pathOf('own')))
      expect.fail(`took ${rows.length}`);
    expect([faults, await readdir(folder)]).toEqual([[full], ['a.sqlite']]);
  });
});

it('the size of a folder is that of its files', async () => {
  writeFileSync(join(folder, 'a'), 'x'.repeat(100));
  writeFileSync(join(folder, 'b'), 'x'.repeat(11));
  // Its size is unknown, as that of a file that is removed in the meantime.
  symlinkSync(join(folder, 'missing'), join(folder, 'c'));
  expect(await bytesIn(folder)).toBe((await stat(join(folder, 'a'))).size + 11);
});
