import { fstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** What of the write that is under way the system has not taken yet. Node looks at the same number for its own idle timeout. */
export function queuedBytesOf(connection: Socket): number {
  return numberOf(connection, 'writeQueueSize') ?? 0;
}

/**
 * What the system has taken of all TCP connections and their clients have not, by the inodes of their sockets. Undefined where
 * it does not say: on other systems than Linux.
 */
export async function untakenByInode(): Promise<ReadonlyMap<number, number> | undefined> {
  try {
    const tables = await Promise.all([
      readFile('/proc/self/net/tcp', 'latin1'),
      readFile('/proc/self/net/tcp6', 'latin1'),
    ]);
    return new Map(tables.flatMap((table) => table.split('\n').slice(1).map(toEntry)));
  } catch {
    return undefined;
  }
}

/** The inode of a connection's socket; undefined for one that is closed. */
export function inodeOf(connection: Socket): number | undefined {
  const descriptor = numberOf(connection, 'fd') ?? -1;
  if (descriptor < 0) return undefined;
  try {
    return fstatSync(descriptor).ino;
  } catch {
    return undefined;
  }
}

/** @see https://docs.kernel.org/networking/proc_net_tcp.html */
function toEntry(line: string): [number, number] {
  const [, , , , queues = '', , , , , inode = ''] = line.trim().split(/\s+/);
  return [Number(inode), Number.parseInt(queues, 16)];
}

/** Of Node's handle of the connection, which has no documented way to it. */
function numberOf(connection: Socket, name: 'writeQueueSize' | 'fd'): number | undefined {
  const handle: unknown = Reflect.get(connection, '_handle');
  if (typeof handle !== 'object' || handle === null) return undefined;
  const value: unknown = Reflect.get(handle, name);
  return typeof value === 'number' ? value : undefined;
}
