import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const windowMs = 60_000;

/** Redis' log of one token's admissions: the reference for all answers. */
export class AdmissionLog implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #key: string;
  readonly #entries = new Map<string, number>();
  readonly #stop = new AbortController();
  #reading: Promise<void> = Promise.resolve();

  static async open(redisUrl: string, tokenId: string): Promise<AdmissionLog> {
    const { hostname, port } = new URL(redisUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new AdmissionLog(socket, `rl:{token:${tokenId}}:m`);
  }

  private constructor(socket: Socket, key: string) {
    this.#socket = socket;
    this.#key = key;
  }

  /** Times of all admissions so far, in order. */
  get instants(): readonly number[] {
    return [...this.#entries.values()].toSorted((a, b) => a - b);
  }

  /** Fills the window with requests that were admitted evenly over the last minute. */
  async fill(limit: number): Promise<void> {
    const nowMs = Date.now();
    const entries = Array.from({ length: limit }, (_, n): readonly [string, number] => [
      `earlier-${n}`,
      Math.floor(nowMs - windowMs + ((n + 1) * windowMs) / limit),
    ]);
    await this.#ask(['ZADD', this.#key, ...entries.flatMap(([id, atMs]) => [String(atMs), id])]);
    await this.#ask(['PEXPIRE', this.#key, String(windowMs)]);
    await this.read();
  }

  /** Reads it now. Entries stay for at least a minute, so more frequent readings miss none. */
  async read(): Promise<void> {
    const [, ...texts] = (await this.#ask(['ZRANGE', this.#key, '0', '-1', 'WITHSCORES'])).split('\r\n');
    // Each text comes after a line with its length: id, score, id, score …
    const values = texts.filter((_, n) => n % 2 === 1);
    for (let n = 0; n + 1 < values.length; n += 2) this.#entries.set(values[n] ?? '', Number(values[n + 1]));
  }

  /** Reads it every few seconds from now on. */
  follow(): void {
    this.#reading = this.#follow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#reading;
    this.#socket.destroy();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.read();
      await sleep(5_000, undefined, { signal }).catch(() => undefined);
    }
  }

  #queue: Promise<unknown> = Promise.resolve();

  /** One command at a time, with its whole answer. */
  #ask(command: readonly string[]): Promise<string> {
    const answer = this.#queue.then(() => this.#send(command));
    this.#queue = answer.catch(() => undefined);
    return answer;
  }

  async #send(command: readonly string[]): Promise<string> {
    const parts = command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('');
    // The known answer to a second command marks the end of the first answer.
    this.#socket.write(`*${command.length}\r\n${parts}*2\r\n$4\r\nECHO\r\n$${endMark.length}\r\n${endMark}\r\n`);
    let text = '';
    while (!text.endsWith(`\r\n${endMark}\r\n`)) {
      const [piece]: Buffer[] = await once(this.#socket, 'data');
      text += piece?.toString('utf8') ?? '';
    }
    if (text.startsWith('-')) throw new Error(text);
    return text.slice(0, text.lastIndexOf(`$${endMark.length}\r\n${endMark}`));
  }
}

const endMark = 'end-of-answer';
