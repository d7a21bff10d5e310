import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { OutboxSynchronous } from '@gateway/edge-router/usage/outbox-file';
import { decoded } from '@gateway/edge-router/usage/outbox-row';
import { ledgerRowsOf } from '../../faults/audit/read-outboxes.ts';
import type { Statement } from '../world/databases.ts';
import type { Chance } from '../world/seeded.ts';

/** As in the product: an outbox tries a disk that failed again each second. */
const writtenAgainWithinMs = 1_500;

/** SQLITE_FULL. */
const fullCode = 13;

/** The disks of processes. They fill up, and lose what was not synced when the power fails. */
export class Disks {
  /** Processes whose disk is full, since when, and until when it was. */
  readonly #full = new Map<string, { readonly fromMs: number; untilMs: number }>();
  /** When usage was only in the memory of a process that ended, because its disk was full. */
  readonly memoryLosses: { readonly process: string; readonly fromMs: number; readonly untilMs: number }[] = [];
  /** Requests in files that need not survive a failure of the power: tokens by id. */
  readonly unsynced = new Map<string, number>();

  fill(process: string, nowMs: number): void {
    this.#full.set(process, { fromMs: nowMs, untilMs: Number.POSITIVE_INFINITY });
  }

  /** Makes room, for one process or for all. */
  free(nowMs: number, process?: string): void {
    for (const [name, full] of this.#full) {
      if (process === undefined || name === process) full.untilMs = Math.min(full.untilMs, nowMs);
    }
  }

  isFull(process: string): boolean {
    return this.#full.get(process)?.untilMs === Number.POSITIVE_INFINITY;
  }

  write<T>({ owner, sql }: Statement, run: () => T): T {
    const isFull = owner !== undefined && this.isFull(owner) && /^\s*(insert|replace|create)/i.test(sql);
    if (isFull) throw Object.assign(new Error('database or disk is full'), { errcode: fullCode });
    return run();
  }

  /** A process ends: what its full disk did not take is lost with its memory. */
  noteEnd(process: string, nowMs: number): void {
    const full = this.#full.get(process);
    if (full === undefined || nowMs > full.untilMs + writtenAgainWithinMs) return;
    this.memoryLosses.push({ process, fromMs: full.fromMs, untilMs: nowMs });
  }

  /**
   * The power of the machine of an edge fails. Returns what restores its files, once they are
   * closed, to what its disk had: by docs/operate/outbox.md, everything with `full`; whole rows
   * with `normal`; with `off` perhaps a damaged file. The last write is torn in each.
   */
  losePower(folder: string, synchronous: OutboxSynchronous, chance: Chance): () => void {
    const names = readdirSync(folder).filter((name) => /\.sqlite(-wal)?$/.test(name));
    const files = names.sort().map((name) => ({ path: join(folder, name), bytes: readFileSync(join(folder, name)) }));
    const bytesOf = new Map(files.map(({ path, bytes }) => [path, bytes]));
    if (synchronous !== 'full') this.#noteRows(bytesOf);
    const isDamaged = synchronous === 'off' && chance.happens(0.3);
    return () => {
      for (const { path, bytes } of files) {
        const isLog = path.endsWith('-wal');
        const torn = Buffer.alloc(chance.between(1, 4_000), chance.between(0, 255));
        const cut = bytes.subarray(0, chance.between(0, bytes.length));
        if (isDamaged) writeFileSync(path, isLog ? '' : torn);
        else if (isLog) writeFileSync(path, synchronous === 'full' ? Buffer.concat([bytes, torn]) : cut);
        else writeFileSync(path, bytes);
      }
    };
  }

  /** Notes what the files hold. One that an earlier failure damaged holds nothing any more. */
  #noteRows(files: ReadonlyMap<string, Buffer>): void {
    for (const [path, bytes] of files) {
      if (path.endsWith('-wal')) continue;
      const copy = `${path}.copy`;
      writeFileSync(copy, bytes);
      writeFileSync(`${copy}-wal`, files.get(`${path}-wal`) ?? '');
      using database = new DatabaseSync(copy);
      for (const { kind, record: bytes } of rowsOf(database)) {
        const record = decoded(kind, bytes);
        if (record === undefined) continue;
        for (const { requestId, tokens } of ledgerRowsOf(record)) this.unsynced.set(requestId, tokens);
      }
      for (const end of ['', '-wal', '-shm']) rmSync(`${copy}${end}`, { force: true });
    }
  }
}

function rowsOf(database: DatabaseSync) {
  try {
    return database.prepare('SELECT kind, record FROM rows').all();
  } catch {
    return [];
  }
}
