import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { OutboxSynchronous } from '@gateway/edge-router/usage/outbox-file';
import { decoded, isLog } from '@gateway/edge-router/usage/outbox-row';
import type { Statement } from '../world/databases.ts';
import type { Chance } from '../world/seeded.ts';

/** SQLITE_FULL. */
const fullCode = 13;

/** The disks of processes. They fill up, and lose what was not synced when the power fails. */
export class Disks {
  /** Processes whose disk is full, and since when. */
  readonly full = new Map<string, number>();
  /** When usage was only in the memory of a process that ended, because its disk was full. */
  readonly memoryLosses: { readonly process: string; readonly fromMs: number; readonly untilMs: number }[] = [];
  /** The ids of requests whose usage was in a file that need not survive a failure of the power. */
  readonly unsynced = new Set<string>();

  write<T>({ owner, sql }: Statement, run: () => T): T {
    const isFull = owner !== undefined && this.full.has(owner) && /^\s*(insert|replace|create)/i.test(sql);
    if (isFull) throw Object.assign(new Error('database or disk is full'), { errcode: fullCode });
    return run();
  }

  /** A process ends: what its full disk did not take is lost with its memory. */
  noteEnd(process: string, nowMs: number): void {
    const fromMs = this.full.get(process);
    if (fromMs !== undefined) this.memoryLosses.push({ process, fromMs, untilMs: nowMs });
  }

  /**
   * The power of the machine of an edge fails. Returns what restores its files, once they are
   * closed, to what its disk had: by docs/operate/outbox.md, everything with `full`; whole rows
   * with `normal`; with `off` perhaps a damaged file. The last write is torn in each.
   */
  losePower(folder: string, synchronous: OutboxSynchronous, chance: Chance): () => void {
    const names = readdirSync(folder).filter((name) => /\.sqlite(-wal)?$/.test(name));
    const files = names.sort().map((name) => ({ path: join(folder, name), bytes: readFileSync(join(folder, name)) }));
    if (synchronous !== 'full') for (const { path } of files) this.#noteRows(path);
    return () => {
      for (const { path, bytes } of files) {
        const isLog = path.endsWith('-wal');
        const torn = Buffer.alloc(chance.between(1, 4_000), chance.between(0, 255));
        const cut = bytes.subarray(0, chance.between(0, bytes.length));
        const isCut = isLog ? synchronous !== 'full' : synchronous === 'off' && chance.happens(0.3);
        writeFileSync(path, isCut ? cut : isLog ? Buffer.concat([bytes, torn]) : bytes);
      }
    };
  }

  #noteRows(path: string): void {
    if (path.endsWith('-wal')) return;
    const copy = `${path}.copy`;
    for (const end of ['', '-wal']) {
      try {
        writeFileSync(`${copy}${end}`, readFileSync(`${path}${end}`));
      } catch {
        // A file without a log.
      }
    }
    const database = new DatabaseSync(copy);
    for (const { kind, event } of database.prepare('SELECT kind, event FROM rows').all()) {
      const message = decoded(kind, event);
      if (message !== undefined && !isLog(message)) this.unsynced.add(message.requestId);
    }
    database.close();
  }
}
