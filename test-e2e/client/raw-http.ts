import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { operatorCertificate } from '../topologies/certificates.ts';
import type { Topology } from '../topologies/topology.ts';

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** By name in lower case, in the order of their arrival. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
}

/** How the server ended a connection. */
export type Ending = 'closed' | 'reset';

/** A connection on which a test sends any bytes, and reads the answers one by one. */
export class RawConnection implements Disposable {
  readonly ended: Promise<Ending>;
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #ending: Ending | undefined;
  #news = Promise.withResolvers<void>();

  constructor({ baseUrl }: Pick<Topology, 'baseUrl'>) {
    const { protocol, hostname, port } = new URL(baseUrl);
    const address = { host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true };
    this.#socket = protocol === 'https:' ? connectTls({ ...address, ...operatorCertificate() }) : connect(address);
    this.ended = new Promise((resolve) => {
      const end = (ending: Ending) => {
        this.#ending ??= ending;
        this.#tell();
        resolve(this.#ending);
      };
      this.#socket
        .on('end', () => end('closed'))
        .on('error', () => end('reset'))
        .on('close', () => end('closed'));
    });
    this.#socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#tell();
    });
  }

  /** Text is sent as Latin-1: one byte a character. */
  send(bytes: string | Uint8Array): this {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    return this;
  }

  /**
   * Sends, and resolves when the server accepts more. A reset or closed connection accepts
   * everything.
   */
  async sendPatiently(bytes: Uint8Array): Promise<void> {
    if (this.#socket.write(bytes) || this.#ending !== undefined) return;
    await Promise.race([new Promise((resolve) => this.#socket.once('drain', resolve)), this.ended]);
  }

  /** Ends the sending side, and continues to read. */
  endSending(): this {
    this.#socket.end();
    return this;
  }

  /** Breaks the connection off with a reset. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** The next answer, including interim ones. `bodiless`: it answers a HEAD. */
  async answer({ bodiless = false } = {}): Promise<RawAnswer> {
    const head = await this.#until(() => this.#received.indexOf('\r\n\r\n'));
    const [statusLine = '', ...lines] = this.#take(head + 4)
      .toString('latin1')
      .trimEnd()
      .split('\r\n');
    const status = Number(statusLine.split(' ')[1]);
    const headers = new Map(lines.map((line) => fieldOf(line)));
    const text = bodiless || status < 200 ? '' : (await this.#body(headers)).toString();
    const isJson = text !== '' && headers.get('content-type')?.startsWith('application/json') === true;
    return { status, headers, text, json: isJson ? JSON.parse(text) : undefined };
  }

  /** True if no bytes have come that were not read as an answer. */
  get isQuiet(): boolean {
    return this.#received.length === 0;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  async #body(headers: ReadonlyMap<string, string>): Promise<Buffer> {
    if (headers.get('transfer-encoding') === 'chunked') return this.#chunkedBody();
    const length = Number(headers.get('content-length') ?? Number.NaN);
    if (Number.isNaN(length)) throw new Error('the answer says neither its length nor that it comes in chunks');
    await this.#until(() => (this.#received.length >= length ? length : -1));
    return this.#take(length);
  }

  async #chunkedBody(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    while (true) {
      const lineEnd = await this.#until(() => this.#received.indexOf('\r\n'));
      const size = Number.parseInt(this.#take(lineEnd + 2).toString('latin1'), 16);
      await this.#until(() => (this.#received.length >= size + 2 ? size : -1));
      chunks.push(this.#take(size));
      this.#take(2);
      if (size === 0) return Buffer.concat(chunks);
    }
  }

  /** Resolves with the result of `find` as soon as that is not -1. */
  async #until(find: () => number): Promise<number> {
    for (let found = find(); ; found = find()) {
      if (found !== -1) return found;
      if (this.#ending !== undefined) {
        throw new Error(`${this.#ending} before the answer was whole: ${JSON.stringify(this.#received.toString())}`);
      }
      await this.#news.promise;
    }
  }

  #take(bytes: number): Buffer {
    const taken = this.#received.subarray(0, bytes);
    this.#received = this.#received.subarray(bytes);
    return taken;
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

/**
 * The text of a request: `head('GET /v1/models', { host: 'x' })`. A list stands for a repeated
 * header.
 */
export function head(methodAndTarget: string, headers: Readonly<Record<string, string | readonly string[]>>): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((single) => `${name}: ${single}\r\n`),
  );
  return `${methodAndTarget} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
