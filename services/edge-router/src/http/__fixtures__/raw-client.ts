import { connect, type Socket } from 'node:net';

/** A client that sends arbitrary bytes, valid or not, and reads the answer. */
export class RawClient implements Disposable {
  /** How the connection ended: with the server's FIN, or by a reset. */
  readonly closed: Promise<'end' | 'reset'>;
  readonly #socket: Socket;
  readonly #listeners = new Set<() => void>();
  #text = '';

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.closed = new Promise((resolve) => {
      this.#socket.once('end', () => resolve('end')).once('error', () => resolve('reset'));
    });
    this.#socket.setEncoding('latin1').on('data', (piece: string) => {
      this.#text += piece;
      for (const listener of this.#listeners) listener();
    });
    this.#socket.on('error', () => undefined);
  }

  /** Everything received so far. */
  get text(): string {
    return this.#text;
  }

  send(bytes: string | Buffer): this {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    return this;
  }

  /** Closes its sending side and continues to read. */
  endSending(): this {
    this.#socket.end();
    return this;
  }

  /** Resolves with everything received when it contains `part`. */
  async until(part: string): Promise<string> {
    while (!this.#text.includes(part)) {
      await new Promise<void>((resolve, reject) => {
        this.#listeners.add(resolve);
        this.closed.then((how) => reject(new Error(`${how} before ${JSON.stringify(part)}: ${this.#text}`)));
      });
      this.#listeners.clear();
    }
    return this.#text;
  }

  /** Resolves with everything received when the server has closed the connection. */
  async answer(): Promise<string> {
    const how = await this.closed;
    if (how === 'reset') throw new Error(`the connection was reset: ${this.#text}`);
    return this.#text;
  }

  /** Resets the connection. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
