import { once } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { type Exchange, untilAborted } from './exchange.ts';
import type { EndingFault, MatchedFaults } from './faults/fault-book.ts';
import type { FaultOf } from './faults/fault-script.ts';
import type { Answer, NamedEvent, ProviderError, ProviderEvent, ProviderFormat } from './provider-format.ts';

export type StreamFault = Exclude<EndingFault, { kind: 'status' }>;

export interface StreamOptions {
  readonly faults: Pick<MatchedFaults, 'delay' | 'kinds' | 'headers'>;
  /** The fault that ends the stream, or takes the place of an event in it. */
  readonly ending: StreamFault | undefined;
  /** The pace of the stream, unless a fault says otherwise. */
  readonly eventDelayMs: number;
}

/**
 * Streams an answer with its faults, at the pace of the client. Events between two waits are written together, a few at a
 * time, and the event loop goes on after each write.
 */
export async function streamAnswer(exchange: Exchange, answer: Answer, options: StreamOptions): Promise<void> {
  const { kinds, headers } = options.faults;
  exchange.start(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...headers });
  const writer = new StreamWriter(exchange, answer, kinds.has('split_utf8'));
  const end = await writeAnswer(answer, options, writer, exchange.format);
  if (options.ending?.kind !== 'reset' || end === 'completed') await writer.finish();
  exchange.record.end(end);
}

async function writeAnswer(
  answer: Answer,
  { faults: { delay, kinds }, ending, eventDelayMs }: StreamOptions,
  writer: StreamWriter,
  format: ProviderFormat,
): Promise<'completed' | 'faulted'> {
  let sent = 0;
  let end: 'completed' | 'faulted' = 'completed';
  await writer.wait(delay?.beforeFirstEventMs ?? 0);
  for (const event of format.events(answer)) {
    if (sent > 0) await writer.wait(delay?.betweenEventsMs ?? eventDelayMs);
    if (ending !== undefined && isDue(ending, sent, event)) {
      end = 'faulted';
      if (ending.kind !== 'broken_json') {
        await writeEnding(ending, answer, { format, writer, sent });
        return end;
      }
      await writer.event({ ...event, data: event.data.slice(0, event.data.length / 2) });
    } else await writer.event(event);
    sent++;
    if (kinds.has('unknown_events')) await writer.text(unknownEvents(sent));
  }
  return end;
}

function isDue(fault: StreamFault, sent: number, event: ProviderEvent): boolean {
  if (fault.kind === 'end' && fault.afterEvents === undefined) return event.terminal;
  return sent === (fault.afterEvents ?? (fault.kind === 'failed' ? 2 : 0));
}

async function writeEnding(
  fault: Exclude<StreamFault, FaultOf<'broken_json'>>,
  answer: Answer,
  { format, writer, sent }: { readonly format: ProviderFormat; readonly writer: StreamWriter; readonly sent: number },
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
  readonly #exchange: Exchange;
  readonly #answer: Answer;
  readonly #inPieces: boolean;
  #text = '';
  #events: ProviderEvent[] = [];

  /** @param inPieces whether to write a few bytes at a time */
  constructor(exchange: Exchange, answer: Answer, inPieces: boolean) {
    this.#exchange = exchange;
    this.#answer = answer;
    this.#inPieces = inPieces;
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
    await setTimeout(durationMs, undefined, { signal: this.#exchange.signal });
  }

  async stall(): Promise<never> {
    await this.#flushAll();
    return untilAborted(this.#exchange.signal);
  }

  async reset(): Promise<void> {
    await this.#flushAll();
    this.#exchange.reset();
  }

  async endlessLine(bytes: number): Promise<void> {
    await this.#flush();
    await this.#write('data: ');
    for (let left = bytes; left > 0; left -= bytesPerWrite)
      await this.#write('x'.repeat(Math.min(left, bytesPerWrite)));
  }

  async finish(): Promise<void> {
    await this.#flush();
    await this.#exchange.finish();
  }

  /** Everything so far, the headers too when nothing else was sent yet. */
  async #flushAll(): Promise<void> {
    this.#exchange.response.flushHeaders();
    await this.#flush();
  }

  /** Events are billed just before their bytes are handed to the connection. */
  async #flush(): Promise<void> {
    if (this.#text === '') return;
    const text = this.#text;
    const lastEvent = this.#events.at(-1);
    this.#exchange.record.countEvents(this.#events.length);
    if (lastEvent !== undefined) this.#exchange.bill(this.#answer, lastEvent);
    this.#text = '';
    this.#events = [];
    if (this.#inPieces) await this.#writePieces(Buffer.from(text));
    else await this.#write(text);
  }

  async #write(bytes: string | Uint8Array): Promise<void> {
    const { response, signal, record } = this.#exchange;
    signal.throwIfAborted();
    record.sending();
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
