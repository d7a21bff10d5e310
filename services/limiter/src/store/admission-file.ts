import { rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makePrivateDatabase } from '@gateway/config';
import type { Clock } from '@gateway/time';
import { WINDOW_MS } from '../windows/minute-window.ts';

export interface AdmissionFileOptions {
  readonly path: string;
  readonly clock: Clock;
  /** An admission could not be written: a restart would forget it. */
  readonly onFault: (thrown: unknown) => void;
}

export interface KeptAdmission {
  readonly key: string;
  readonly requestId: string;
  readonly enteredMs: number;
}

/**
 * The admissions of the last minute in a file, so that a process that is killed and started again knows them all: each is
 * handed to the operating system before its request is answered. Nothing waits for the disk. After a loss of power the last
 * ones may be missing, and a file that was damaged is made anew.
 */
export class AdmissionFile implements Disposable {
  readonly #clock: Clock;
  readonly #onFault: (thrown: unknown) => void;
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  #nextCleaningMs = 0;

  constructor({ path, clock, onFault }: AdmissionFileOptions) {
    this.#clock = clock;
    this.#onFault = onFault;
    this.#database = openOrRemake(path);
    this.#insert = this.#database.prepare('INSERT OR REPLACE INTO admissions VALUES (?, ?, ?)');
  }

  /** What was admitted in the last minute, the oldest first. */
  admissions(): readonly KeptAdmission[] {
    this.#clean();
    // A request that was admitted again after its minute has an older entry too, as long as the clock was set back.
    const latest = 'SELECT key, request_id, max(entered_ms) AS entered_ms FROM admissions GROUP BY key, request_id';
    const rows = this.#database.prepare(`${latest} ORDER BY entered_ms`).all();
    return rows.map((row) => ({
      key: String(row.key),
      requestId: String(row.request_id),
      enteredMs: Number(row.entered_ms),
    }));
  }

  /** Keeps a request that took a slot. It is in the file when this returns. */
  add({ key, requestId, enteredMs }: KeptAdmission): void {
    try {
      this.#insert.run(enteredMs, key, requestId);
      if (performance.now() >= this.#nextCleaningMs) this.#clean();
    } catch (thrown) {
      this.#onFault(thrown);
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  /** The same rules as in memory: see `MinuteWindow.now`, for a clock that was set back. */
  #clean(): void {
    this.#nextCleaningMs = performance.now() + cleaningIntervalMs;
    const nowMs = this.#clock.nowMs();
    this.#database.prepare('DELETE FROM admissions WHERE entered_ms <= ?').run(nowMs - WINDOW_MS);
    this.#database
      .prepare('UPDATE OR REPLACE admissions SET entered_ms = ? WHERE entered_ms > ?')
      .run(nowMs, nowMs + WINDOW_MS);
  }
}

const cleaningIntervalMs = 1_000;

function openOrRemake(path: string): DatabaseSync {
  try {
    return openFile(path);
  } catch (thrown) {
    if (!isDamaged(thrown)) throw thrown;
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${end}`, { force: true });
    return openFile(path);
  }
}

/** In the order of time, which they are written, found and dropped in. */
const table = `CREATE TABLE IF NOT EXISTS admissions (
  entered_ms INTEGER NOT NULL, key TEXT NOT NULL, request_id TEXT NOT NULL,
  PRIMARY KEY (entered_ms, key, request_id)) STRICT, WITHOUT ROWID`;

function openFile(path: string): DatabaseSync {
  makePrivateDatabase(path);
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;');
    database.exec(table);
    if (database.prepare('PRAGMA quick_check').get()?.quick_check !== 'ok') throw new DamagedFile(path);
    return database;
  } catch (thrown) {
    database.close();
    throw thrown;
  }
}

class DamagedFile extends Error {
  override readonly name = 'DamagedFile';
}

/** SQLITE_CORRUPT, SQLITE_NOTADB. @see https://www.sqlite.org/rescode.html */
const damaged: readonly unknown[] = [11, 26];

function isDamaged(thrown: unknown): boolean {
  return (
    thrown instanceof DamagedFile ||
    (thrown instanceof Error && 'errcode' in thrown && damaged.includes(thrown.errcode))
  );
}
