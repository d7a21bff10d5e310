import { Socket } from 'node:net';
import type { LinkEnd } from './link.ts';
import type { World } from './world.ts';
import { WorldTimer } from './world-timer.ts';

/**
 * A TCP socket on a connection of the simulated network. It is a `Socket`, because servers and
 * clients of HTTP ask for one, but has no handle: bytes come from the link.
 */
export class WorldSocket extends Socket {
  readonly #end: LinkEnd;
  readonly #world: World;
  #idleTimer: WorldTimer | undefined;
  #received = 0;
  #sent = 0;

  /** @param isConnecting the connection opens later, which emits `connect`. */
  constructor(world: World, end: LinkEnd, { isConnecting, allowHalfOpen }: SocketOptions) {
    super({ allowHalfOpen });
    this.#world = world;
    this.#end = end;
    Object.defineProperties(this, {
      connecting: { value: isConnecting, writable: true },
      bytesRead: { get: () => this.#received },
      bytesWritten: { get: () => this.#sent + this.writableLength },
      remoteAddress: { value: '127.0.0.1' },
      remotePort: { value: 1 },
    });
    end.listen({
      onOpen: () => this.#onOpen(),
      onMessage: (message) => this.#onBytes(message as Buffer),
      onEnd: () => {
        this.push(null);
        this.read(0);
      },
      onLost: (code) => this.destroy(Object.assign(new Error(`simulated ${code}`), { code, syscall: 'read' })),
    });
  }

  override _read(): void {
    this.#end.resume();
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    // A copy: the writer may use its memory again.
    const bytes = Buffer.from(chunk as string, encoding);
    this.#sent += bytes.length;
    this.#notIdle();
    if (this.#end.send(bytes, bytes.length)) done();
    else this.#end.whenRead(done);
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: () => void): void {
    const bytes = Buffer.concat(chunks.map(({ chunk, encoding }) => Buffer.from(chunk as string, encoding)));
    this._write(bytes, 'utf8', done);
  }

  override _final(done: () => void): void {
    this.#end.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#idleTimer?.close();
    // What was sent and ended still arrives, unless something came that was not read.
    const hasUnread = error !== null || this.#end.hasUnread;
    if (!this.writableFinished || (hasUnread && !this.readableEnded)) this.#end.reset();
    super._destroy(error, done);
  }

  override resetAndDestroy(): this {
    this.#end.reset();
    return this.destroy();
  }

  override setTimeout(timeoutMs: number, onTimeout?: () => void): this {
    this.#idleTimer?.close();
    Object.assign(this, { timeout: timeoutMs });
    this.#idleTimer =
      timeoutMs === 0
        ? undefined
        : new WorldTimer(
            () => this.#world,
            () => this.emit('timeout'),
            { delayMs: timeoutMs },
          );
    if (onTimeout !== undefined && timeoutMs === 0) this.removeListener('timeout', onTimeout);
    else if (onTimeout !== undefined) this.once('timeout', onTimeout);
    return this;
  }

  override setNoDelay(): this {
    return this;
  }

  override setKeepAlive(): this {
    return this;
  }

  override ref(): this {
    return this;
  }

  override unref(): this {
    return this;
  }

  #onOpen(): void {
    if (!this.connecting) return;
    Object.assign(this, { connecting: false });
    this.emit('connect');
    this.emit('ready');
  }

  #onBytes(bytes: Buffer): void {
    this.#received += bytes.length;
    this.#notIdle();
    if (!this.push(bytes)) this.#end.pause();
  }

  #notIdle(): void {
    this.#idleTimer?.refresh();
  }
}

interface SocketOptions {
  readonly isConnecting: boolean;
  readonly allowHalfOpen: boolean;
}
