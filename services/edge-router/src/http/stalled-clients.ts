import type { Socket } from 'node:net';
import { inodeOf, queuedBytesOf, untakenByInode } from './untaken-bytes.ts';

export interface StalledClientsOptions {
  /** A client that takes nothing for so long, though there is something for it, is cut off. */
  readonly stallMs: number;
  readonly onStalled: () => void;
}

/**
 * Watches that clients take what is sent to them. It looks at connections, so that it holds for every answer of every endpoint,
 * and where the client's own backpressure is: no buffer on the way from the provider can hide it. A client that takes a little
 * now and then is left alone. All connections share one timer.
 */
export class StalledClients implements Disposable {
  readonly #options: StalledClientsOptions;
  readonly #watched = new Map<Socket, WatchedConnection>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(options: StalledClientsOptions) {
    this.#options = options;
  }

  watch(connection: Socket): void {
    this.#watched.set(connection, new WatchedConnection(connection));
    this.#timer ??= setInterval(() => void this.#look(), this.#options.stallMs / looksInAStall).unref();
    connection.once('close', () => this.#forget(connection));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watched.clear();
  }

  #forget(connection: Socket): void {
    this.#watched.delete(connection);
    if (this.#watched.size === 0) this[Symbol.dispose]();
  }

  /** Counts looks, not time: a process that was stopped for a while must not take that for a stall of all its clients. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const quiet = this.#watched
      .values()
      .filter((watched) => watched.isQuiet())
      .toArray();
    // What the gateway has handed over may still wait in the system's buffers, which is many bytes to a slow client.
    const untaken = quiet.length === 0 ? undefined : await untakenByInode();
    for (const watched of quiet) {
      if (watched.quietLooks(untaken) < looksInAStall || watched.connection.destroyed) continue;
      stalled.add(watched.connection);
      watched.connection.resetAndDestroy();
      this.#options.onStalled();
    }
    this.#isLooking = false;
  }
}

/** True for a connection that was cut off because its client took nothing. */
export function hasStalled(connection: Socket): boolean {
  return stalled.has(connection);
}

const stalled = new WeakSet<Socket>();
const looksInAStall = 12;

class WatchedConnection {
  readonly connection: Socket;
  #writtenBytes = 0;
  #queuedBytes = 0;
  #untakenBytes: number | undefined;
  #quietLooks = 0;

  constructor(connection: Socket) {
    this.connection = connection;
  }

  /** True when there is something for the client, and the system has taken nothing of it since the last look. */
  isQuiet(): boolean {
    const { connection } = this;
    const writtenBytes = connection.bytesWritten - connection.writableLength;
    const queuedBytes = queuedBytesOf(connection);
    const isQuiet =
      connection.writableLength > 0 && writtenBytes === this.#writtenBytes && queuedBytes === this.#queuedBytes;
    this.#writtenBytes = writtenBytes;
    this.#queuedBytes = queuedBytes;
    if (!isQuiet) {
      this.#quietLooks = 0;
      this.#untakenBytes = undefined;
    }
    return isQuiet;
  }

  /** For how many looks in a row the client has taken nothing. @param untaken undefined where the system does not say */
  quietLooks(untaken: ReadonlyMap<number, number> | undefined): number {
    const inode = untaken === undefined ? undefined : inodeOf(this.connection);
    const untakenBytes = inode === undefined ? undefined : untaken?.get(inode);
    const hasTaken = this.#untakenBytes !== undefined && untakenBytes !== this.#untakenBytes;
    this.#untakenBytes = untakenBytes;
    this.#quietLooks = hasTaken ? 0 : this.#quietLooks + 1;
    return this.#quietLooks;
  }
}
