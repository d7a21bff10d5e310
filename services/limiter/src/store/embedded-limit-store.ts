import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDiskFull, makePrivateDatabase, withDiskRoom } from '@gateway/config';
import type { ServiceRuntime } from '@gateway/lifecycle';
import {
  type Admission,
  type Check,
  type Decision,
  keyNamed,
  MemoryLimitStore,
  nameOf,
  type OwnAdmission,
  WINDOW_MS,
} from '@gateway/limits';
import type { Logger } from '@gateway/telemetry';
import { epochMs, monotonicMs, startImmediate } from '@gateway/time';
import { createLimiterMetrics, reasonOf } from '../metrics.ts';

export interface EmbeddedLimitStoreOptions {
  readonly maxKeys: number;
  /** The file with the admissions of the last minute. No other process may have it open. */
  readonly path: string;
  readonly runtime: ServiceRuntime;
}

/**
 * The store of a single limiter: in memory, starting with the minute windows of the previous
 * process. Each admission is handed to the operating system before its request is answered; nothing
 * waits for the disk. So a process that is killed and restarted knows all admissions; after a power
 * failure the last ones may be missing; a damaged file is recreated.
 */
export class EmbeddedLimitStore extends MemoryLimitStore implements Disposable {
  readonly #logger: Logger;
  readonly #notKept: ReturnType<typeof createLimiterMetrics>['admissionsNotKept'];
  readonly #path: string;
  /** Undefined while the disk is full. */
  #file: ReturnType<typeof openAdmissions> | undefined;
  /** Slots taken and returned in this turn of the event loop: they are one transaction. */
  #unwritten: Admission[] = [];
  /** Resolves when all of them are written. Never rejects. */
  #written: Promise<void> | undefined;
  #nextCleaningMs = 0;
  #hasFailed = false;

  constructor({ path, maxKeys, runtime }: EmbeddedLimitStoreOptions) {
    const add = (slot: Admission) => this.#add(slot);
    super({ maxKeys, onAdmitted: add, onReturned: add });
    this.#logger = runtime.logger;
    this.#notKept = createLimiterMetrics(runtime.metrics).admissionsNotKept;
    this.#path = path;
    try {
      this.#file = openAdmissions(path);
      this.record(this.#admissions(this.#file.database));
    } catch (thrown) {
      if (!isDiskFull(thrown, dirname(path))) throw thrown;
      this.#noteFailure(thrown, 0);
    }
  }

  override async admit(check: Check): Promise<Decision> {
    const decision = super.admit(check);
    await this.#written;
    return decision;
  }

  [Symbol.dispose](): void {
    this.#write();
    this.#file?.database.close();
  }

  /** The admissions of the last minute, the oldest first. */
  #admissions(database: DatabaseSync): readonly OwnAdmission[] {
    this.#clean(database);
    // A request that was admitted again after its minute still has its older entry if the clock was
    // set back.
    const sql = 'SELECT key, request_id, max(entered_ms) AS entered FROM admissions GROUP BY 1, 2 ORDER BY 3';
    const rows = database.prepare(sql).all();
    const nowMs = epochMs();
    const ageOf = (entered: unknown) => nowMs - Number(entered);
    return rows.map((row) => ({
      ...keyNamed(`${row.key}`),
      requestId: `${row.request_id}`,
      ageMs: ageOf(row.entered),
    }));
  }

  #add(slot: Admission): void {
    this.#unwritten.push(slot);
    this.#written ??= new Promise((resolve) => {
      startImmediate(() => resolve(this.#write()));
    });
  }

  #write(): void {
    const slots = this.#unwritten;
    this.#unwritten = [];
    this.#written = undefined;
    if (slots.length === 0) return;
    try {
      this.#file ??= openAdmissions(this.#path);
      const { database, insert, remove } = this.#file;
      database.exec('BEGIN');
      for (const slot of slots) {
        if (slot.isReturned === true) remove.run(nameOf(slot), slot.requestId);
        else insert.run(slot.enteredMs, nameOf(slot), slot.requestId);
      }
      if (monotonicMs() >= this.#nextCleaningMs) this.#clean(database);
      database.exec('COMMIT');
    } catch (thrown) {
      const database = this.#file?.database;
      if (database?.isOpen && database.isTransaction) database.exec('ROLLBACK');
      this.#noteFailure(thrown, slots.filter(({ isReturned }) => isReturned !== true).length);
    }
  }

  /** A full disk fails every write: it is logged once and counted each time. */
  #noteFailure(thrown: unknown, admissions: number): void {
    this.#notKept.inc(admissions);
    const message = 'admissions cannot be stored; a restart would lose them';
    const reason = reasonOf(withDiskRoom(thrown, dirname(this.#path)));
    if (!this.#hasFailed) this.#logger.warn({ reason }, message);
    this.#hasFailed = true;
  }

  /** Follows the rules of the windows in memory, including a clock that was set back. */
  #clean(database: DatabaseSync): void {
    this.#nextCleaningMs = monotonicMs() + 1_000;
    const nowMs = epochMs();
    database.prepare('DELETE FROM admissions WHERE entered_ms <= ?').run(nowMs - WINDOW_MS);
    const pullBack = 'UPDATE OR REPLACE admissions SET entered_ms = ? WHERE entered_ms > ?';
    database.prepare(pullBack).run(nowMs, nowMs + WINDOW_MS);
  }
}

function openAdmissions(path: string) {
  const database = openOrRemake(path);
  return {
    database,
    insert: database.prepare('INSERT OR REPLACE INTO admissions VALUES (?, ?, ?)'),
    remove: database.prepare('DELETE FROM admissions WHERE key = ? AND request_id = ?'),
  };
}

function openOrRemake(path: string): DatabaseSync {
  try {
    return openFile(path);
  } catch (thrown) {
    // SQLITE_CORRUPT, SQLITE_NOTADB. @see https://www.sqlite.org/rescode.html
    const isDamaged = thrown instanceof Error && 'errcode' in thrown && [11, 26].includes(Number(thrown.errcode));
    if (!isDamaged) throw thrown;
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${end}`, { force: true });
    return openFile(path);
  }
}

/**
 * Sorted by time: entries are written, read and dropped in this order. `key` is the name of a key,
 * which contains its group.
 */
const table = `CREATE TABLE IF NOT EXISTS admissions (
  entered_ms INTEGER NOT NULL, key TEXT NOT NULL, request_id TEXT NOT NULL,
  PRIMARY KEY (entered_ms, key, request_id)) STRICT, WITHOUT ROWID`;

function openFile(path: string): DatabaseSync {
  makePrivateDatabase(path);
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;');
    database.exec(table);
    const check = database.prepare('PRAGMA quick_check').get()?.quick_check;
    if (check !== 'ok') throw Object.assign(new Error(`${path} is damaged`), { errcode: 11 });
    return database;
  } catch (thrown) {
    database.close();
    throw thrown;
  }
}
