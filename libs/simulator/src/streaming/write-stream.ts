import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { ProviderEvent } from '../provider-format.ts';
import { eventText, type StreamEnd, type StreamStep } from './script-stream.ts';

export interface StreamOutput {
  readonly response: ServerResponse;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Whether to write in pieces of a few bytes. */
  readonly inPieces: boolean;
  /** Called just before the bytes of these events are handed to the connection. */
  readonly onEvents: (events: readonly ProviderEvent[]) => void;
  /** Called just before bytes are handed to the connection, of events or of anything else. */
  readonly onBytes: () => void;
  /** Called just before the connection is reset. */
  readonly onReset: () => void;
}

/**
 * Carries out the steps of a stream at the pace of the client. Events between two waits are written together, a few at a
 * time, and other work gets its turn after each write.
 *
 * @returns how it ended; 'cancelled' when the client left first.
 */
export async function writeStream(
  steps: Iterator<StreamStep, StreamEnd>,
  output: StreamOutput,
): Promise<StreamEnd | 'cancelled'> {
  const writer = new StreamWriter(output);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) {
        await writer.finish();
        return step.value;
      }
      await writer.take(step.value);
      if (step.value.kind === 'reset') return 'faulted';
      output.signal.throwIfAborted();
    }
  } catch (thrown) {
    if (output.signal.aborted) return 'cancelled';
    throw thrown;
  }
}

const bytesPerWrite = 16 * 1024;
const eventsPerWrite = 64;

class StreamWriter {
  readonly #output: StreamOutput;
  #text = '';
  #events: ProviderEvent[] = [];

  constructor(output: StreamOutput) {
    this.#output = output;
  }

  async take(step: StreamStep): Promise<void> {
    switch (step.kind) {
      case 'event':
        this.#events.push(step.event);
        return this.#add(eventText(step.event));
      case 'text':
        return this.#add(step.text);
      case 'wait':
        await this.#flushAll();
        await setTimeout(step.durationMs, undefined, { signal: this.#output.signal });
        return;
      case 'stall':
        await this.#flushAll();
        return untilAborted(this.#output.signal);
      case 'endless_line':
        await this.#flush();
        return this.#writeEndlessLine(step.bytes);
      case 'reset':
        await this.#flushAll();
        this.#output.onReset();
        this.#output.response.socket?.resetAndDestroy();
    }
  }

  async finish(): Promise<void> {
    await this.#flush();
    await endResponse(this.#output.response, this.#output.signal);
  }

  async #add(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length >= bytesPerWrite || this.#events.length >= eventsPerWrite) await this.#flush();
  }

  /** Everything so far, the headers too when nothing else was sent yet. */
  async #flushAll(): Promise<void> {
    this.#output.response.flushHeaders();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#text === '') return;
    const text = this.#text;
    this.#output.onEvents(this.#events);
    this.#text = '';
    this.#events = [];
    if (this.#output.inPieces) await this.#writePieces(Buffer.from(text));
    else await this.#write(text);
  }

  async #write(bytes: string | Uint8Array): Promise<void> {
    const { response, signal, onBytes } = this.#output;
    signal.throwIfAborted();
    onBytes();
    if (response.write(bytes)) await setImmediate(undefined, { signal });
    else await drained(response, signal);
  }

  async #writePieces(bytes: Buffer): Promise<void> {
    let position = 0;
    for (let piece = 0; position < bytes.length; piece++) {
      const length = pieceLengths[piece % pieceLengths.length] ?? 1;
      await this.#write(bytes.subarray(position, position + length));
      position += length;
    }
  }

  async #writeEndlessLine(bytes: number): Promise<void> {
    await this.#write('data: ');
    for (let left = bytes; left > 0; left -= bytesPerWrite)
      await this.#write('x'.repeat(Math.min(left, bytesPerWrite)));
  }
}

const pieceLengths = [1, 2, 3, 5, 7, 11];

/** Ends the answer and waits until the connection has taken all of it. */
export async function endResponse(response: ServerResponse, signal: AbortSignal, body?: string): Promise<void> {
  signal.throwIfAborted();
  const finished = once(response, 'finish', signal);
  response.end(body);
  await finished;
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return once(response, 'drain', signal);
}

function once(response: ServerResponse, event: 'drain' | 'finish', signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      response.off(event, onEvent);
      reject(signal.reason);
    };
    const onEvent = () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    response.once(event, onEvent);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Never ends well: it waits for the client to leave. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
