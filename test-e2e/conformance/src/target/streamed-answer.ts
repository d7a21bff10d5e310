import { pipeline, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { createParser } from 'eventsource-parser';
import { Violation } from '../verdict.ts';
import type { ArrivingAnswer, Head } from './arriving-answer.ts';
import type { Recorder } from './evidence.ts';

/** One event, as it was on the wire. */
export interface ServerSentEvent {
  readonly event: string | undefined;
  readonly data: string;
  /** @throws Violation if the data is not JSON. */
  json(): unknown;
}

/** An answer whose events are read as they come. Leaving the loop hangs up. */
export class StreamedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #arriving: ArrivingAnswer;
  readonly #recorder: Recorder;
  readonly #signal: AbortSignal;
  #end: 'whole' | 'cut' = 'whole';

  constructor({ status, headers }: Head, arriving: ArrivingAnswer, recorder: Recorder, signal: AbortSignal) {
    this.status = status;
    this.headers = headers;
    this.#arriving = arriving;
    this.#recorder = recorder;
    this.#signal = signal;
    recorder.answered(status, headers);
  }

  /** @throws Violation if the connection closes before the end of the body. */
  async *events(): AsyncIterable<ServerSentEvent> {
    yield* this.#eventsToTheEnd();
    if (this.#end === 'cut') throw new Violation('the connection closed during the stream');
  }

  /**
   * All events, and the end of the answer. `cut`: the connection closed before the end of the body.
   */
  async all(): Promise<{ readonly events: readonly ServerSentEvent[]; readonly end: 'whole' | 'cut' }> {
    const events = await Array.fromAsync(this.#eventsToTheEnd());
    return { events, end: this.#end };
  }

  /** The whole body as text. */
  async read(): Promise<{ readonly text: string; readonly end: 'whole' | 'cut' }> {
    const pieces = await Array.fromAsync(this.#texts());
    return { text: pieces.join(''), end: this.#end };
  }

  hangUp(): void {
    this.#arriving.hangUp();
  }

  async *#eventsToTheEnd(): AsyncIterable<ServerSentEvent> {
    let come: ServerSentEvent[] = [];
    const parser = createParser({
      onEvent: ({ event, data }) => come.push({ event, data, json: () => parsedJson(data, 'the data of an event') }),
    });
    try {
      for await (const text of this.#texts()) {
        parser.feed(text);
        const events = come;
        come = [];
        yield* events;
      }
    } finally {
      this.hangUp();
    }
  }

  async *#texts(): AsyncIterable<string> {
    const decoder = new TextDecoder();
    try {
      for await (const bytes of decoded(this.#arriving.pieces(), this.headers['content-encoding'])) {
        const text = decoder.decode(bytes, { stream: true });
        this.#recorder.came(text);
        yield text;
      }
    } catch {
      this.#signal.throwIfAborted();
      this.#end = 'cut';
      this.#recorder.came('\n[the connection closed here]');
    }
  }
}

/** @throws Violation if the text is not JSON. */
export function parsedJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Violation(`${what} is not JSON: ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`);
  }
}

const decoders = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

function decoded(pieces: AsyncIterable<Uint8Array>, encoding: string | undefined): AsyncIterable<Uint8Array> {
  const create = Object.entries(decoders).find(([name]) => name === encoding)?.[1];
  // The iteration throws the error.
  return create === undefined ? pieces : pipeline(Readable.from(pieces), create(), () => {});
}
