import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createDatabaseProbe } from '../database-probe.ts';
import { migrate, pendingMigrations } from '../migrate.ts';
import { openSqlite, writeToSqlite } from './open-sqlite.ts';

describe('a SQLite file', () => {
  it('is made with its folder, and keeps what was committed', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'a', 'b', 'gateway.sqlite');
    {
      await using database = openSqlite(path);
      await migrate(database);
      await database.insertInto('sequences').values({ name: 'kept', last_value: 7 }).execute();
    }
    await using again = openSqlite(path);
    expect(await again.selectFrom('sequences').select('last_value').execute()).toEqual([{ last_value: 7 }]);
  });

  it('works in WAL mode with foreign keys checked', async () => {
    await using folder = await temporaryFolder();
    await using database = openSqlite(join(folder.path, 'gateway.sqlite'));
    expect((await sql`pragma journal_mode`.execute(database)).rows).toEqual([{ journal_mode: 'wal' }]);
    expect((await sql`pragma foreign_keys`.execute(database)).rows).toEqual([{ foreign_keys: 1 }]);
  });

  it('is brought up to date by a thread, when that is wanted, and is whole when it is closed', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'gateway.sqlite');
    {
      await using database = openSqlite(path, { checkpointMs: 20 });
      await migrate(database);
      const before = statSync(path).size;
      const rows = Array.from({ length: 2_000 }, (_, n) => ({ name: `${n}`.padStart(200, 'x'), last_value: n }));
      await database.insertInto('sequences').values(rows).execute();
      await expect.poll(() => statSync(path).size).toBeGreaterThan(before + 200 * rows.length);
    }
    expect(existsSync(`${path}-wal`)).toBe(false);
    await using again = openSqlite(path);
    expect(await again.selectFrom('sequences').select('name').execute()).toHaveLength(2_000);
  });

  it('lets a process end, when it is closed and when it is not', async () => {
    await using folder = await temporaryFolder();
    for (const close of ['await database.destroy();', '']) {
      const program = `
        const { openSqlite } = await import(${JSON.stringify(new URL('./open-sqlite.ts', import.meta.url).href)});
        const database = openSqlite(${JSON.stringify(join(folder.path, 'gateway.sqlite'))}, { checkpointMs: 1_000 });
        await database.schema.createTable('t').ifNotExists().addColumn('c', 'text').execute();
        ${close}
        console.log('done');`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
      expect(stdout).toBe('done\n');
    }
  });

  it('is written at once, but not amid a transaction, which may take back what it did', async () => {
    await using folder = await temporaryFolder();
    await using database = openSqlite(join(folder.path, 'gateway.sqlite'));
    await migrate(database);
    const names = async () => (await database.selectFrom('sequences').select('name').execute()).map(({ name }) => name);
    const write = (name: string) =>
      writeToSqlite(database, (tagged) => tagged.run`insert into sequences (name, last_value) values (${name}, 0)`);
    let written: Promise<unknown> = Promise.resolve();
    const transaction = database.transaction().execute(async (within) => {
      await within.insertInto('sequences').values({ name: 'within', last_value: 0 }).execute();
      written = write('beside');
      await within.selectFrom('sequences').selectAll().execute();
      throw new Error('taken back');
    });
    await expect(transaction).rejects.toThrow('taken back');
    await written;
    expect(await names()).toEqual(['beside']);
    await write('after');
    await expect(write('after')).rejects.toThrow();
    expect(await names()).toEqual(['after', 'beside']);
  });

  it('says that migrations are missing until they have run', async () => {
    await using database = openSqlite(':memory:');
    const probe = createDatabaseProbe(database);
    expect(await probe()).toMatch(/gatewayctl migrate/);
    const pending = await pendingMigrations(database);
    expect(await migrate(database)).toEqual(pending);
    expect(await probe()).toBeUndefined();
  });

  it('loses no increment when several processes read and write in transactions', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'gateway.sqlite');
    await using database = openSqlite(path);
    await migrate(database);
    await database.insertInto('sequences').values({ name: 'n', last_value: 0 }).execute();
    await Promise.all([increment(path, 50), increment(path, 50)]);
    expect(await database.selectFrom('sequences').select('last_value').execute()).toEqual([{ last_value: 100 }]);
  });
});

/** Increments in another thread, with a connection of its own, as another process would. */
function increment(path: string, times: number): Promise<void> {
  const program = `
    const { openSqlite } = await import(${JSON.stringify(new URL('./open-sqlite.ts', import.meta.url).href)});
    const database = openSqlite(${JSON.stringify(path)});
    for (let n = 0; n < ${times}; n++) {
      await database.transaction().execute(async (transaction) => {
        const { last_value } = await transaction.selectFrom('sequences').select('last_value').executeTakeFirstOrThrow();
        await transaction.updateTable('sequences').set({ last_value: last_value + 1 }).execute();
      });
    }
    await database.destroy();`;
  return new Promise((resolve, reject) => {
    new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
      .once('error', reject)
      .once('exit', () => resolve());
  });
}

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), 'gateway-sqlite-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
