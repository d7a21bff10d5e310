import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { EndingFault } from './faults/fault-book.ts';
import type { FaultOf } from './faults/fault-script.ts';
import type { Answer, NamedEvent, ProviderError, ProviderEvent, ProviderFormat } from './provider-format.ts';

export interface StreamScript {
  readonly format: ProviderFormat;
  readonly answer: Answer;
  readonly beforeFirstEventMs: number;
  readonly betweenEventsMs: number;
  readonly unknownEvents: boolean;
  readonly ending: StreamFault | undefined;
}

export type StreamFault = Exclude<EndingFault, { kind: 'status' }>;

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

/** How a stream ran: as it should, or with less than the whole answer. */
export type StreamEnd = 'completed' | 'faulted';

/**
 * Writes a streamed answer with its faults, at the pace of the client. Events between two waits are written together, a few at a
 * time, and the event loop goes on after each write.
 *
 * @returns how it ended; 'cancelled' when the client left first.
 */
export async function writeStream(script: StreamScript, output: StreamOutput): Promise<StreamEnd | 'cancelled'> {
  const writer = new StreamWriter(output);
  try {
    const end = await writeAnswer(script, writer);
    if (script.ending?.kind !== 'reset' || end === 'completed') await writer.finish();
    return end;
  } catch (thrown) {
    if (output.signal.aborted) return 'cancelled';
    throw thrown;
  }
}

async function writeAnswer(script: StreamScript, writer: StreamWriter): Promise<StreamEnd> {
  const { ending, format, answer } = script;
  let sent = 0;
  let end: StreamEnd = 'completed';
  await writer.wait(script.beforeFirstEventMs);
  for (const event of format.events(answer)) {
    if (sent > 0) await writer.wait(script.betweenEventsMs);
    if (ending !== undefined && isDue(ending, sent, event)) {
      end = 'faulted';
      if (ending.kind !== 'broken_json') {
        await writeEnding(ending, script, { writer, sent });
        return end;
      }
      await writer.event({ ...event, data: event.data.slice(0, event.data.length / 2) });
    } else await writer.event(event);
    sent++;
    if (script.unknownEvents) await writer.text(unknownEvents(sent));
  }
  return end;
}

function isDue(fault: StreamFault, sent: number, event: ProviderEvent): boolean {
  if (fault.kind === 'end' && fault.afterEvents === undefined) return event.terminal;
  return sent === (fault.afterEvents ?? (fault.kind === 'failed' ? 2 : 0));
}

async function writeEnding(
  fault: Exclude<StreamFault, FaultOf<'broken_json'>>,
  { format, answer }: StreamScript,
  { writer, sent }: { readonly writer: StreamWriter; readonly sent: number },
): Promise<void> {
  switch (fault.kind) {
    case 'reset':
      return writer.reset();
    case 'stall':
      return writer.stall();
    case 'endless_line':
      return writer.endlessLine(fault.bytes ?? Number.POSITIVE_INFINITY);
    case 'error_event':
      return writer.text(eventText(format.errorEvent(errorOf(fault, format), sent)));
    case 'failed':
      return writer.text(eventText(format.failedEvent(answer, errorOf(fault, format), sent)));
    case 'end':
      return;
  }
}

/** By default the Messages provider is overloaded and the Responses provider has an internal error. */
function errorOf({ error }: FaultOf<'error_event' | 'failed'>, { name }: ProviderFormat): ProviderError {
  const usual: ProviderError =
    name === 'messages'
      ? { status: 529, message: 'Overloaded' }
      : { status: 500, code: 'server_error', message: 'The server had an error while processing your request.' };
  return error?.code === undefined && error?.type === undefined
    ? { ...usual, message: error?.message ?? usual.message }
    : { status: 500, message: usual.message, ...error };
}

function unknownEvents(number: number): string {
  const data = JSON.stringify({ type: 'simulator.unknown', number });
  return `: comment ${number}\n\nevent: keepalive\n\nevent: simulator.unknown\ndata: ${data}\n\n`;
}

/** An event as it stands in the stream. */
function eventText({ name, data }: NamedEvent): string {
  return `event: ${name}\ndata: ${data}\n\n`;
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

  async event(event: ProviderEvent): Promise<void> {
    this.#events.push(event);
    await this.text(eventText(event));
  }

  async text(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length >= bytesPerWrite || this.#events.length >= eventsPerWrite) await this.#flush();
  }

  async wait(durationMs: number): Promise<void> {
    if (durationMs === 0) return;
    await this.#flushAll();
    await setTimeout(durationMs, undefined, { signal: this.#output.signal });
  }

  async stall(): Promise<never> {
    await this.#flushAll();
    return untilAborted(this.#output.signal);
  }

  async reset(): Promise<void> {
    await this.#flushAll();
    this.#output.onReset();
    this.#output.response.socket?.resetAndDestroy();
  }

  async endlessLine(bytes: number): Promise<void> {
    await this.#flush();
    await this.#write('data: ');
    for (let left = bytes; left > 0; left -= bytesPerWrite)
      await this.#write('x'.repeat(Math.min(left, bytesPerWrite)));
  }

  async finish(): Promise<void> {
    await this.#flush();
    await endResponse(this.#output.response, this.#output.signal);
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
    else await once(response, 'drain', { signal });
  }

  async #writePieces(bytes: Buffer): Promise<void> {
    let position = 0;
    for (let piece = 0; position < bytes.length; piece++) {
      const length = pieceLengths[piece % pieceLengths.length] ?? 1;
      await this.#write(bytes.subarray(position, position + length));
      position += length;
    }
  }
}

const pieceLengths = [1, 2, 3, 5, 7, 11];

/** Ends the answer and waits until the connection has taken all of it. */
export async function endResponse(response: ServerResponse, signal: AbortSignal, body?: string): Promise<void> {
  signal.throwIfAborted();
  const finished = once(response, 'finish', { signal });
  response.end(body);
  await finished;
}

/** Never ends well: it waits for the client to leave. */
export async function untilAborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}
