import { existsSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { create, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { makePrivateDatabase } from '@gateway/config';
import { type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { UsageBatch } from '@gateway/usage-stream/usage-message';

/** What is to be noted of one request. `closed`: it ended without usage. `log`: what became of it. */
export type OutboxChange =
  | { readonly kind: 'open'; readonly event: UsageRecorded }
  | { readonly kind: 'final'; readonly event: UsageRecorded }
  | { readonly kind: 'log'; readonly log: RequestLogged }
  | { readonly kind: 'closed' };

/** What is to be delivered, in the order in which it was written. */
export interface OutboxBatch extends UsageBatch {
  /** The sequence number of the last one. Undefined: they have no rows. */
  readonly upTo: number | undefined;
  /** Rows that can't be read. */
  readonly damaged: number;
}

/** Finals with rows. */
export interface StoredBatch extends OutboxBatch {
  readonly upTo: number;
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
  readonly #open: StatementSync;
  readonly #close: StatementSync;
  readonly #final: StatementSync;
  readonly #finals: StatementSync;
  readonly #confirm: StatementSync;
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
      // Removed by the one who held the lock until now: what is written here would be lost.
      if (existsSync(path)) return new OutboxFile(path, database);
      database.close();
      return undefined;
    } catch (thrown) {
      database.close();
      if (isBusy(thrown)) return undefined;
      throw thrown;
    }
  }

  private constructor(path: string, database: DatabaseSync) {
    this.path = path;
    this.#database = database;
    this.#open = database.prepare('INSERT OR REPLACE INTO open_requests (request_id, event) VALUES (?, ?)');
    this.#close = database.prepare('DELETE FROM open_requests WHERE request_id = ?');
    this.#final = database.prepare('INSERT INTO finals (sequence, written_ms, is_log, event) VALUES (?, ?, ?, ?)');
    this.#finals = database.prepare(
      'SELECT sequence, is_log, event FROM finals WHERE sequence > ? ORDER BY sequence LIMIT ?',
    );
    this.#confirm = database.prepare('DELETE FROM finals WHERE sequence <= ?');
    this.#lastSequence = Number(database.prepare('SELECT max(sequence) AS last FROM finals').get()?.last ?? 0);
  }

  /** The sequence number of the final that was written last. */
  get lastSequence(): number {
    return this.#lastSequence;
  }

  get isEmpty(): boolean {
    const found = 'SELECT EXISTS (SELECT 1 FROM finals) OR EXISTS (SELECT 1 FROM open_requests) AS found';
    return this.#database.prepare(found).get()?.found === 0;
  }

  /** Writes all of it or, throwing, nothing. Finals up to `confirmedUpTo` are no longer needed. */
  write(changes: ReadonlyMap<string, OutboxChange>, confirmedUpTo = 0): void {
    let sequence = this.#lastSequence;
    this.#database.exec('BEGIN');
    try {
      const nowMs = Date.now();
      for (const [key, change] of changes) {
        if (change.kind === 'log') {
          this.#final.run(++sequence, nowMs, 1, toBinary(RequestLoggedSchema, change.log));
        } else if (change.kind === 'open') {
          this.#open.run(key, toBinary(UsageRecordedSchema, change.event));
        } else {
          this.#close.run(key);
          if (change.kind === 'final')
            this.#final.run(++sequence, nowMs, 0, toBinary(UsageRecordedSchema, change.event));
        }
      }
      if (confirmedUpTo > 0) this.#confirm.run(confirmedUpTo);
      this.#database.exec('COMMIT');
      this.#lastSequence = sequence;
    } catch (thrown) {
      // SQLite has rolled back by itself where the disk was full.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw thrown;
    }
  }

  /** The next finals after a sequence number; undefined when there are none. */
  finals(after: number, limit: number): StoredBatch | undefined {
    const rows = this.#finals.all(after, limit);
    const last = rows.at(-1);
    if (last === undefined) return undefined;
    const events = rows.flatMap(({ is_log, event }) =>
      is_log === 0 ? (decoded(UsageRecordedSchema, event) ?? []) : [],
    );
    const logs = rows.flatMap(({ is_log, event }) => (is_log === 0 ? [] : (decoded(RequestLoggedSchema, event) ?? [])));
    return { events, logs, upTo: Number(last.sequence), damaged: rows.length - events.length - logs.length };
  }

  /** When the first final after a sequence number was written; undefined when there is none. */
  writtenAtMs(after: number): number | undefined {
    const first = 'SELECT written_ms FROM finals WHERE sequence > ? ORDER BY sequence LIMIT 1';
    const row = this.#database.prepare(first).get(after);
    return row === undefined ? undefined : Number(row.written_ms);
  }

  /**
   * Makes finals of the requests that a dead owner left open: failed when a provider was answering, else lost, with what
   * was known of their usage.
   */
  closeAbandoned(): void {
    const rows = this.#database.prepare('SELECT request_id, event FROM open_requests').all();
    const changes = rows.map(({ request_id, event }): [string, OutboxChange] => {
      const known = decoded(UsageRecordedSchema, event);
      return [
        String(request_id),
        known === undefined ? { kind: 'closed' } : { kind: 'final', event: abandoned(known) },
      ];
    });
    this.write(new Map(changes));
  }

  /** Puts a damaged file out of the way, for people to look at. */
  static setAside(path: string): void {
    for (const suffix of ['-wal', ''])
      if (existsSync(path + suffix)) renameSync(path + suffix, `${path}${suffix}.damaged`);
  }

  /** Closes the file and removes it: all that was in it is elsewhere. */
  remove(): void {
    // Under its lock, so that no other process opens it in between.
    for (const suffix of ['-wal', '']) rmSync(this.path + suffix, { force: true });
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

const schema = `
  CREATE TABLE IF NOT EXISTS open_requests (request_id TEXT PRIMARY KEY, event BLOB NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS finals (sequence INTEGER PRIMARY KEY, written_ms INTEGER NOT NULL, is_log INTEGER NOT NULL, event BLOB NOT NULL);`;

function decoded<S extends typeof UsageRecordedSchema | typeof RequestLoggedSchema>(
  schema: S,
  bytes: unknown,
): MessageShape<S> | undefined {
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    const message = fromBinary(schema, bytes);
    return message.requestId === '' ? undefined : message;
  } catch {
    return undefined;
  }
}

function abandoned(event: UsageRecorded): UsageRecorded {
  const outcome = event.outcome === Outcome.UNSPECIFIED ? Outcome.LOST : event.outcome;
  return create(UsageRecordedSchema, { ...event, outcome, estimated: true });
}

/** What was read is no database, or not a whole one. */
export function isDamage(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === sqliteCorrupt || code === sqliteNotADatabase;
}

function isBusy(thrown: unknown): boolean {
  return codeOf(thrown) === sqliteBusy;
}

/** The primary code; extended ones have more in their upper bytes. */
function codeOf(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error && 'errcode' in thrown && typeof thrown.errcode === 'number')) return undefined;
  return thrown.errcode & 0xff;
}

/** @see https://www.sqlite.org/rescode.html */
const sqliteBusy = 5;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;
