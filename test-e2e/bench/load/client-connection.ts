import { connect, type Socket } from 'node:net';
import { HttpReader } from '../wire/http-reader.ts';

/** One answered or failed request. */
export interface Exchange {
  /** Undefined if it was answered to the end, with an accepted status. */
  readonly failure: string | undefined;
  readonly latencyMs: number;
  readonly firstByteMs: number;
  readonly bodyBytes: number;
}

/** A kept-alive connection that carries one request at a time. */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #accepted: readonly string[];
  readonly #reader = new HttpReader({ keepBody: false });
  #finish: ((exchange: Exchange) => void) | undefined;
  #onFirstByte: (() => void) | undefined;
  #sentAtMs = 0;
  #isBroken = false;

  constructor(port: number, accepted: readonly string[] = ['200']) {
    this.#accepted = accepted;
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    this.#socket.on('error', (error) => this.#break(error.message));
    this.#socket.on('close', () => this.#break('the connection was closed before the end of the answer'));
  }

  /** Whether another request can be sent here. */
  get isUsable(): boolean {
    return !this.#isBroken;
  }

  send(request: Buffer, finish: (exchange: Exchange) => void, onFirstByte?: () => void): void {
    this.#finish = finish;
    this.#onFirstByte = onFirstByte;
    this.#reader.reset();
    this.#sentAtMs = performance.now();
    this.#socket.write(request);
  }

  destroy(): void {
    this.#finish = undefined;
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    const isComplete = this.#reader.read(bytes);
    if (this.#onFirstByte !== undefined && this.#reader.firstBodyAtMs > 0) {
      this.#onFirstByte();
      this.#onFirstByte = undefined;
    }
    if (!isComplete) return;
    const { status } = this.#reader;
    this.#end(this.#accepted.includes(status) ? undefined : `status ${status}`);
  }

  #break(reason: string): void {
    this.#isBroken = true;
    this.#end(reason);
  }

  #end(failure: string | undefined): void {
    const finish = this.#finish;
    if (finish === undefined) return;
    this.#finish = undefined;
    const { firstBodyAtMs, bodyBytes } = this.#reader;
    finish({
      failure,
      latencyMs: performance.now() - this.#sentAtMs,
      firstByteMs: firstBodyAtMs - this.#sentAtMs,
      bodyBytes,
    });
  }
}

/** The bytes of every request of a target, one per set of headers. */
export function requestBytes(path: string, headers: Readonly<Record<string, string>>, body: string): Buffer {
  const lines = Object.entries({
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}
