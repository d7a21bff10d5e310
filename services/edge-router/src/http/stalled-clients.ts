import { fstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/**
 * Watches that clients take what is sent to them, and cuts off those that take nothing for `stallMs`, though there is something for
 * them. It looks at connections, so that it holds for every answer of every endpoint. A client that takes a little now and then is
 * left alone.
 */
export class StalledClients implements Disposable {
  readonly #onStalled: () => void;
  readonly #watched = new Map<Socket, { sample: string; unchanged: number }>();
  readonly #timer: NodeJS.Timeout;
  #isSampling = false;

  constructor({ stallMs, onStalled }: { readonly stallMs: number; readonly onStalled: () => void }) {
    this.#onStalled = onStalled;
    this.#timer = setInterval(() => void this.#sample(), stallMs / samplesInAStall).unref();
  }

  watch(connection: Socket): void {
    this.#watched.set(connection, { sample: '', unchanged: 0 });
    connection.once('close', () => this.#watched.delete(connection));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Counts samples, not time: a process that was stopped for a while must not take that for a stall of all its clients. */
  async #sample(): Promise<void> {
    if (this.#isSampling) return;
    for (const [{ writableLength }, watched] of this.#watched) if (writableLength === 0) watched.unchanged = 0;
    const waiting = [...this.#watched].filter(([{ writableLength }]) => writableLength > 0);
    if (waiting.length === 0) return;
    this.#isSampling = true;
    const unacknowledged = await unacknowledgedByInode();
    this.#isSampling = false;
    for (const [connection, watched] of waiting) {
      const sample = sampleOf(connection, unacknowledged);
      watched.unchanged = sample === watched.sample ? watched.unchanged + 1 : 0;
      watched.sample = sample;
      if (watched.unchanged < samplesInAStall || connection.destroyed) continue;
      stalled.add(connection);
      connection.resetAndDestroy();
      this.#onStalled();
    }
  }
}

/** True for a connection that was cut off because its client took nothing. */
export function hasStalled(connection: Socket): boolean {
  return stalled.has(connection);
}

const stalled = new WeakSet<Socket>();
const samplesInAStall = 12;

/** How far the connection's bytes have come: to the system, and from there to the client. */
function sampleOf(connection: Socket, unacknowledged: ReadonlyMap<number, number>): string {
  const { bytesWritten, writableLength } = connection;
  // There is no documented way to these two.
  const { writeQueueSize, fd }: { writeQueueSize?: number; fd?: number } = Reflect.get(connection, '_handle') ?? {};
  return [bytesWritten - writableLength, writeQueueSize, unacknowledged.get(inodeOf(fd ?? -1))].join(' ');
}

/**
 * What the system has taken of all TCP connections and their clients have not, by the inodes of their sockets: many bytes to a
 * slow client. Empty on other systems than Linux. @see https://docs.kernel.org/networking/proc_net_tcp.html
 */
async function unacknowledgedByInode(): Promise<ReadonlyMap<number, number>> {
  const tables = await Promise.all(
    ['/proc/self/net/tcp', '/proc/self/net/tcp6'].map((path) => readFile(path, 'latin1').catch(() => '')),
  );
  const lines = tables.flatMap((table) => table.split('\n').slice(1));
  return new Map(
    lines.map((line) => {
      const [, , , , queues = '', , , , , inode = ''] = line.trim().split(/\s+/);
      return [Number(inode), Number.parseInt(queues, 16)];
    }),
  );
}

/** The inode of a socket; -1 of one that is closed. */
function inodeOf(descriptor: number): number {
  try {
    return descriptor < 0 ? -1 : fstatSync(descriptor).ino;
  } catch {
    return -1;
  }
}
