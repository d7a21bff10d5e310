import { connect, type Socket } from 'node:net';
import type { Topology } from '../topologies/topology.ts';

/**
 * A client on a connection of its own that reads only as much of the answer as the test asks for.
 */
export class SlowReader implements Disposable {
  readonly #socket: Socket;
  #taken = '';

  constructor(
    { baseUrl }: Pick<Topology, 'baseUrl'>,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: unknown,
  ) {
    const { hostname, port, host } = new URL(baseUrl);
    // It reads nothing from the connection until the test asks for it.
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true }).pause();
    this.#socket.on('error', () => this.#socket.destroy());
    const text = JSON.stringify(body);
    const lines = { host, ...headers, 'content-length': String(Buffer.byteLength(text)) };
    const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#socket.write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n${text}`);
  }

  /** The bytes read so far, as they were on the wire. */
  get taken(): string {
    return this.#taken;
  }

  /** False once the connection was seen to end. Only a connection that is read can show its end. */
  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Reads this many bytes, or fewer if there are no more. */
  take(bytes: number): void {
    if (this.#socket.listenerCount('readable') === 0) this.#socket.on('readable', noRead);
    const piece: unknown = this.#socket.read(Math.min(Math.floor(bytes), this.#socket.readableLength)) ?? '';
    this.#taken += String(piece);
  }

  /** Reads everything from now on. Resolves when `found` is in it, or the connection has ended. */
  takeAllUntil(found: string): Promise<void> {
    return new Promise((resolve) => {
      const take = () => {
        for (let piece: unknown = this.#socket.read(); piece !== null; piece = this.#socket.read()) {
          this.#taken += String(piece);
        }
        if (this.#taken.slice(-1_000).includes(found)) resolve();
      };
      this.#socket.on('readable', take).once('close', () => resolve());
      take();
    });
  }

  /** Reads the rest. Resolves when the connection has ended. */
  takeAll(): Promise<void> {
    this.#socket.on('readable', () => this.#socket.read());
    return new Promise((resolve) => {
      if (this.#socket.destroyed) resolve();
      else this.#socket.once('close', () => resolve());
      this.#socket.read();
    });
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** A listener of `readable` makes the connection one that is read explicitly. */
function noRead(): void {}
