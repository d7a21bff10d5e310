import { existsSync, renameSync, rmSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync, type SQLTagStore } from 'node:sqlite';
import { isDiskFull, makePrivateDatabase } from '@gateway/config';
import { randomId, yieldToEventLoop } from '@gateway/time';
import type { OutboxEvents } from './outbox-events.ts';
import { decoded, encoded, type StoredRow } from './outbox-row.ts';

/** The number of rows that are read or delivered at a time. */
export const batchRows = 500;

/**
 * The values of SQLite's `synchronous`: `off` survives a kill; in a power failure `normal`
 * preserves the file, and `full` every row.
 */
export const outboxSynchronous = ['off', 'normal', 'full'] as const;
export type OutboxSynchronous = (typeof outboxSynchronous)[number];

/**
 * A SQLite file with the usage of one process. The process holds its lock for its whole lifetime,
 * however slow it is: if another process can open the file, its owner is dead.
 */
export class OutboxFile implements Disposable {
  #open: Opened | undefined;
  /** Opens the file of one that could not be created, because the disk was full. */
  readonly #create: () => OutboxFile | undefined;

  /**
   * Opens a file, or creates it; undefined when another process holds it, or has removed it in the
   * meantime.
   * @throws when the file is damaged, or can't be created.
   */
  static open(path: string, synchronous: OutboxSynchronous): OutboxFile | undefined {
    makePrivateDatabase(path);
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};`);
      database.exec('BEGIN EXCLUSIVE');
      requireSchema(database);
      database.exec('COMMIT');
      // The process that held the lock until now has removed the file: what is written here would
      // be lost.
      if (existsSync(path)) return new OutboxFile({ path, database, sql: database.createTagStore() });
      database.close();
      return undefined;
    } catch (thrown) {
      database.close();
      const wasRemoved = codeOf(thrown) === sqliteIoError && !existsSync(path);
      if (codeOf(thrown) === sqliteBusy || wasRemoved) return undefined;
      throw thrown;
    }
  }

  /** Creates a file for this process alone: when it is first written, if the disk is full now. */
  static create({ folder, synchronous, openFile }: OutboxFolder): OutboxFile {
    const create = () => {
      const path = join(folder, `${randomId()}.sqlite`);
      try {
        return openFile(path, synchronous);
      } catch (thrown) {
        for (const end of ['-wal', '-shm', '']) rmSync(`${path}${end}`, { force: true });
        throw thrown;
      }
    };
    // Repeated if another process takes the file for abandoned before it is locked.
    for (;;) {
      try {
        const file = create();
        if (file !== undefined) return file;
      } catch (thrown) {
        if (!isDiskFull(thrown, folder)) throw thrown;
        return new OutboxFile(undefined, create);
      }
    }
  }

  private constructor(open: Opened | undefined, create: () => OutboxFile | undefined = () => undefined) {
    this.#open = open;
    this.#create = create;
  }

  /** Empty until it is created. */
  get path(): string {
    return this.#open?.path ?? '';
  }

  get isEmpty(): boolean {
    return this.#open === undefined || this.#open.sql.get`SELECT 1 FROM rows` === undefined;
  }

  /** When the first final row was written; undefined when there is none. */
  get oldestMs(): number | undefined {
    if (this.#open === undefined) return undefined;
    const row = this.#open.sql.get`SELECT written_ms FROM rows WHERE kind <> 'open' ORDER BY number LIMIT 1`;
    return row === undefined ? undefined : Number(row.written_ms);
  }

  /** Writes all rows or, if it throws, none. A row replaces the one with its number. */
  write(rows: Iterable<StoredRow>): void {
    if (this.#open === undefined) {
      const created = this.#create();
      if (created !== undefined) this.#open = created.#open;
    }
    if (this.#open === undefined) throw new Error('The file of the outbox was taken by another process.');
    const { database, sql } = this.#open;
    database.exec('BEGIN');
    try {
      for (const row of rows) apply(row, sql);
      database.exec('COMMIT');
    } catch (thrown) {
      // If the disk is full, SQLite has already rolled back.
      if (database.isTransaction) database.exec('ROLLBACK');
      throw thrown;
    }
  }

  /** All rows as final rows, in order, the open ones as they are. Unreadable rows are deleted. */
  *batches(events: Pick<OutboxEvents, 'damaged'>): Generator<readonly StoredRow[], void> {
    if (this.#open === undefined) return;
    const { sql } = this.#open;
    for (let after = 0; ; ) {
      const stored = sql.all`
        SELECT number, kind, written_ms, record FROM rows WHERE number > ${after} ORDER BY number LIMIT ${batchRows}`;
      if (stored.length === 0) return;
      const rows: StoredRow[] = [];
      for (const { number, kind, written_ms: changedAtMs, record: bytes } of stored) {
        after = Number(number);
        const record = decoded(kind, bytes);
        if (record === undefined) sql.run`DELETE FROM rows WHERE number = ${after}`;
        else rows.push({ number: after, state: 'final', changedAtMs: Number(changedAtMs), record });
      }
      if (rows.length < stored.length) events.damaged(this.path, stored.length - rows.length);
      yield rows;
    }
  }

  /** Moves a damaged file aside, for inspection. */
  static setAside(path: string, events: Pick<OutboxEvents, 'damaged'>): void {
    events.damaged(path, undefined);
    for (const file of [`${path}-wal`, path]) if (existsSync(file)) renameSync(file, `${file}.damaged`);
  }

  /** Closes the file and removes it: all its content is stored elsewhere. */
  remove(): void {
    // Removed while locked, so that no other process opens it in between.
    if (this.#open !== undefined) for (const end of ['-wal', '']) rmSync(`${this.path}${end}`, { force: true });
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (this.#open?.database.isOpen) this.#open.database.close();
  }
}

interface Opened {
  readonly path: string;
  readonly database: DatabaseSync;
  readonly sql: SQLTagStore;
}

function apply(row: StoredRow, sql: SQLTagStore): void {
  const { number, state, changedAtMs } = row;
  if (state === 'gone') {
    sql.run`DELETE FROM rows WHERE number = ${number}`;
    return;
  }
  const record = encoded(row.record);
  sql.run`REPLACE INTO rows (number, kind, written_ms, record) VALUES (${number}, ${state}, ${changedAtMs}, ${record})`;
}

interface OutboxFolder {
  readonly folder: string;
  readonly synchronous: OutboxSynchronous;
  readonly openFile: typeof OutboxFile.open;
  readonly events: OutboxEvents;
}

/**
 * The rows that dead processes left in the folder, a batch at a time. A file is removed when all of
 * it was taken, and moved aside when it is damaged.
 */
export async function* abandonedRows({ folder, synchronous, openFile, events }: OutboxFolder, ownPath: string) {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (!name.endsWith('.sqlite') || path === ownPath) continue;
    try {
      using file = openFile(path, synchronous);
      for (const rows of file?.batches(events) ?? []) {
        yield rows;
        await yieldToEventLoop();
      }
      file?.remove();
    } catch (fault) {
      events.faulted(fault);
      if (isDamage(fault)) OutboxFile.setAside(path, events);
    }
  }
}

/** @throws when the tables belong to another build. */
function requireSchema(database: DatabaseSync): void {
  const version = database.prepare('PRAGMA user_version').get()?.user_version;
  if (version === schemaVersion) return;
  const hasTables = database.prepare('SELECT 1 FROM sqlite_schema').get() !== undefined;
  if (hasTables) throw Object.assign(new Error(`the outbox has schema ${version}`), { errcode: sqliteNotADatabase });
  database.exec(`${schema} PRAGMA user_version = ${schemaVersion};`);
}

const schemaVersion = 3;
const schema =
  'CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, written_ms INTEGER NOT NULL, record BLOB NOT NULL);';

/** The total size of the files in a folder. */
export async function bytesIn(folder: string): Promise<number> {
  const files = (await readdir(folder)).map((name) => stat(join(folder, name)));
  const sizes = (await Promise.allSettled(files)).map((file) => (file.status === 'fulfilled' ? file.value.size : 0));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** True when the content is not a database, is incomplete, or belongs to another build. */
export function isDamage(thrown: unknown): boolean {
  return [sqliteCorrupt, sqliteNotADatabase].includes(codeOf(thrown));
}

/**
 * The primary code; extended codes use the upper bytes.
 * @see https://www.sqlite.org/rescode.html
 */
function codeOf(thrown: unknown): number {
  return thrown instanceof Error && 'errcode' in thrown ? Number(thrown.errcode) & 0xff : 0;
}

const sqliteBusy = 5;
const sqliteIoError = 10;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;
