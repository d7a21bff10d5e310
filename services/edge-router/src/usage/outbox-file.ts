import { randomUUID } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLTagStore } from 'node:sqlite';
import { create, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { makePrivateDatabase } from '@gateway/config';
import { type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { UsageBatch } from '@gateway/usage-stream/usage-message';

/** What is to be noted of one request. `closed`: it ended without usage. `log`: what became of it. */
export type OutboxChange =
  | { readonly kind: 'open' | 'final'; readonly event: UsageRecorded }
  | { readonly kind: 'log'; readonly log: RequestLogged }
  | { readonly kind: 'closed'; readonly requestId: string };

/** What is to be delivered, in the order in which it was written. */
export interface OutboxBatch extends UsageBatch {
  /** The sequence number of the last one. */
  readonly upTo: number;
  /** Rows that can't be read. */
  readonly damaged: number;
}

/** As SQLite's `synchronous`: `off` survives a kill; `normal` keeps the file whole, and `full` every row, when the power goes. */
export const outboxSynchronous = ['off', 'normal', 'full'] as const;
export type OutboxSynchronous = (typeof outboxSynchronous)[number];

/**
 * One SQLite file with the usage of one process. The process holds its lock for as long as it lives, however slow it is:
 * another one that can open the file knows that its owner is dead.
 */
export class OutboxFile implements Disposable {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #sql: SQLTagStore;
  /** Rising also when all rows have gone: readers go on after the last one that they saw. */
  #lastSequence: number;

  /**
   * Opens a file, which is made when it is absent; undefined when another process has it.
   * @throws when the file is damaged, or can't be made.
   */
  static open(path: string, synchronous: OutboxSynchronous): OutboxFile | undefined {
    makePrivateDatabase(path);
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};`);
      database.exec(`BEGIN EXCLUSIVE; ${schema} COMMIT;`);
      // Removed by the process that had the lock until now: what is written here would be lost.
      if (existsSync(path)) return new OutboxFile(path, database);
      database.close();
      return undefined;
    } catch (thrown) {
      database.close();
      if (codeOf(thrown) === sqliteBusy) return undefined;
      throw thrown;
    }
  }

  /** Makes a file for this process alone. */
  static create({ folder, synchronous, openFile }: NewFile): OutboxFile {
    // Again, should another process take it for abandoned before it is locked.
    for (;;) {
      const file = openFile(join(folder, `${randomUUID()}.sqlite`), synchronous);
      if (file !== undefined) return file;
    }
  }

  private constructor(path: string, database: DatabaseSync) {
    this.path = path;
    this.#database = database;
    this.#sql = database.createTagStore();
    this.#lastSequence = Number(this.#sql.get`SELECT max(sequence) AS last FROM finals`?.last ?? 0);
  }

  /** The sequence number of the final that was written last. */
  get lastSequence(): number {
    return this.#lastSequence;
  }

  get isEmpty(): boolean {
    return this.#sql.get`SELECT 1 FROM finals UNION ALL SELECT 1 FROM open_requests` === undefined;
  }

  /** Writes all of it or, throwing, nothing. Finals up to `confirmedUpTo` are no longer needed. */
  write(changes: Iterable<OutboxChange>, confirmedUpTo = 0): void {
    const before = this.#lastSequence;
    this.#database.exec('BEGIN');
    try {
      for (const change of changes) this.#apply(change);
      if (confirmedUpTo > 0) this.#sql.run`DELETE FROM finals WHERE sequence <= ${confirmedUpTo}`;
      this.#database.exec('COMMIT');
    } catch (thrown) {
      this.#lastSequence = before;
      // SQLite has rolled back by itself where the disk was full.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw thrown;
    }
  }

  /** The next finals after a sequence number; undefined when there are none. */
  finals(after: number, limit: number): OutboxBatch | undefined {
    const rows = this.#sql.all`
      SELECT sequence, is_log, event FROM finals WHERE sequence > ${after} ORDER BY sequence LIMIT ${limit}`;
    const last = rows.at(-1);
    if (last === undefined) return undefined;
    const events = rows.flatMap((row) => (row.is_log === 0 ? decoded(UsageRecordedSchema, row.event) : []));
    const logs = rows.flatMap((row) => (row.is_log === 0 ? [] : decoded(RequestLoggedSchema, row.event)));
    return { events, logs, upTo: Number(last.sequence), damaged: rows.length - events.length - logs.length };
  }

  /** When the first final after a sequence number was written; undefined when there is none. */
  writtenAtMs(after: number): number | undefined {
    const row = this.#sql.get`SELECT written_ms FROM finals WHERE sequence > ${after} ORDER BY sequence LIMIT 1`;
    return row === undefined ? undefined : Number(row.written_ms);
  }

  /**
   * Makes finals of the requests that a dead owner left open: failed when a provider was answering, else lost, with what
   * was known of their usage.
   */
  closeAbandoned(): void {
    const rows = this.#sql.all`SELECT request_id, event FROM open_requests`;
    const changes = rows.map(({ request_id, event }): OutboxChange => {
      const [known] = decoded(UsageRecordedSchema, event);
      if (known === undefined) return { kind: 'closed', requestId: String(request_id) };
      const outcome = known.outcome === Outcome.UNSPECIFIED ? Outcome.LOST : known.outcome;
      return { kind: 'final', event: create(UsageRecordedSchema, { ...known, outcome, estimated: true }) };
    });
    this.write(changes);
  }

  /** Puts a damaged file out of the way, for people to look at. */
  static setAside(path: string): void {
    for (const file of [`${path}-wal`, path]) if (existsSync(file)) renameSync(file, `${file}.damaged`);
  }

  /** Closes the file and removes it: all that was in it is elsewhere. */
  remove(): void {
    // Under its lock, so that no other process opens it in between.
    for (const file of [`${this.path}-wal`, this.path]) rmSync(file, { force: true });
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #apply(change: OutboxChange): void {
    switch (change.kind) {
      case 'open': {
        const bytes = toBinary(UsageRecordedSchema, change.event);
        this.#sql
          .run`INSERT OR REPLACE INTO open_requests (request_id, event) VALUES (${change.event.requestId}, ${bytes})`;
        break;
      }
      case 'final':
        this.#close(change.event.requestId);
        this.#append(0, toBinary(UsageRecordedSchema, change.event));
        break;
      case 'log':
        this.#append(1, toBinary(RequestLoggedSchema, change.log));
        break;
      case 'closed':
        this.#close(change.requestId);
        break;
    }
  }

  #close(requestId: string): void {
    this.#sql.run`DELETE FROM open_requests WHERE request_id = ${requestId}`;
  }

  #append(isLog: 0 | 1, bytes: Uint8Array): void {
    this.#lastSequence += 1;
    this.#sql.run`
      INSERT INTO finals (sequence, written_ms, is_log, event) VALUES (${this.#lastSequence}, ${Date.now()}, ${isLog}, ${bytes})`;
  }
}

interface NewFile {
  readonly folder: string;
  readonly synchronous: OutboxSynchronous;
  readonly openFile: typeof OutboxFile.open;
}

const schema = `
  CREATE TABLE IF NOT EXISTS open_requests (request_id TEXT PRIMARY KEY, event BLOB NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS finals (sequence INTEGER PRIMARY KEY, written_ms INTEGER NOT NULL, is_log INTEGER NOT NULL, event BLOB NOT NULL);`;

/** Empty for what can't be read. */
function decoded<S extends typeof UsageRecordedSchema | typeof RequestLoggedSchema>(
  messageSchema: S,
  bytes: unknown,
): MessageShape<S>[] {
  if (!(bytes instanceof Uint8Array)) return [];
  try {
    const message = fromBinary(messageSchema, bytes);
    return message.requestId === '' ? [] : [message];
  } catch {
    return [];
  }
}

/** What was read is no database, or not a whole one. */
export function isDamage(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === sqliteCorrupt || code === sqliteNotADatabase;
}

/** The primary code; extended ones have more in their upper bytes. @see https://www.sqlite.org/rescode.html */
function codeOf(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error && 'errcode' in thrown && typeof thrown.errcode === 'number')) return undefined;
  return thrown.errcode & 0xff;
}

const sqliteBusy = 5;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;
