import { fstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { cancelTimer, startInterval } from '@gateway/time';

/**
 * Disconnects clients that read nothing of pending data for `stallMs`. It checks connections, so
 * that it applies to every answer of every endpoint. A client that reads a little from time to time
 * is left alone. Ends with the server.
 */
export function cutStalledClients(server: Server, stallMs: number, onStalled: () => void): void {
  const watched = new Map<Socket, { sample: string; unchanged: number }>();
  let isSampling = false;

  /**
   * Counts samples instead of time: a process that was paused must not mistake that for a stall of
   * all its clients.
   */
  async function sample(): Promise<void> {
    if (isSampling) return;
    for (const [{ writableLength }, client] of watched) if (writableLength === 0) client.unchanged = 0;
    const waiting = [...watched].filter(([{ writableLength }]) => writableLength > 0);
    if (waiting.length === 0) return;
    isSampling = true;
    const unacknowledged = await unacknowledgedByInode();
    isSampling = false;
    for (const [connection, client] of waiting) {
      const now = sampleOf(connection, unacknowledged);
      client.unchanged = now === client.sample ? client.unchanged + 1 : 0;
      client.sample = now;
      if (client.unchanged < samplesInAStall || connection.destroyed) continue;
      stalled.add(connection);
      connection.resetAndDestroy();
      onStalled();
    }
  }

  const timer = startInterval(() => void sample(), stallMs / samplesInAStall).unref();
  server.once('close', () => cancelTimer(timer));
  server.on('connection', (connection) => {
    watched.set(connection, { sample: '', unchanged: 0 });
    connection.once('close', () => watched.delete(connection));
  });
}

/** True for a connection that was closed because its client read nothing. */
export function hasStalled(connection: Socket): boolean {
  return stalled.has(connection);
}

const stalled = new WeakSet<Socket>();
const samplesInAStall = 12;

/** The progress of the connection's bytes: to the system, and from there to the client. */
function sampleOf(connection: Socket, unacknowledged: ReadonlyMap<number, number>): string {
  const { bytesWritten, writableLength } = connection;
  // There is no documented access to these two.
  const { writeQueueSize, fd }: { writeQueueSize?: number; fd?: number } = Reflect.get(connection, '_handle') ?? {};
  return [bytesWritten - writableLength, writeQueueSize, unacknowledged.get(inodeOf(fd ?? -1))].join(' ');
}

/**
 * The bytes of all TCP connections that the system has taken and their clients have not
 * acknowledged, by socket inode: a slow client has many. Empty on systems other than Linux.
 * @see https://docs.kernel.org/networking/proc_net_tcp.html
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

/** The inode of a socket; -1 if it is closed. */
function inodeOf(descriptor: number): number {
  try {
    return descriptor < 0 ? -1 : fstatSync(descriptor).ino;
  } catch {
    return -1;
  }
}
