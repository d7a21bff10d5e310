import { once } from 'node:events';
import { sleep, yieldToEventLoop } from '@gateway/time';
import type { Exchange } from './exchange.ts';
import type { StreamFault } from './faults/fault-book.ts';
import type { FaultOf } from './faults/fault-script.ts';
import type { ProviderError } from './provider-request.ts';
import type { Answer, NamedEvent, ProviderEvent, SimulatedFormat } from './simulated-format.ts';
import type { AnswerFaults } from './with-faults.ts';

/**
 * Streams an answer with its faults, at the client's pace and with the configured interval between
 * events, unless a fault changes it. Events between two waits are written together, a few at a
 * time, and each write yields to the event loop.
 */
export async function streamAnswer(
  exchange: Exchange,
  answer: Answer,
  { delay, kinds, headers, ending }: AnswerFaults,
  eventDelayMs: number,
): Promise<void> {
  exchange.start(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...headers });
  const writer = new StreamWriter(exchange, answer, kinds.has('split_utf8'));
  let sent = 0;
  let end: 'completed' | 'faulted' = 'completed';
  await writer.wait(delay?.beforeFirstEventMs ?? 0);
  for (const event of exchange.format.events(answer)) {
    if (sent > 0) await writer.wait(waitBefore(sent, delay) ?? eventDelayMs);
    const isBad = ending !== undefined && isDue(ending, sent, event);
    if (isBad) end = 'faulted';
    if (isBad && ending.kind !== 'broken_json') {
      await writeEnding(ending, exchange, answer, { writer, sent });
      break;
    }
    const data = isBad ? event.data.slice(0, event.data.length / 2) : event.data;
    await writer.event({ ...event, data, terminal: event.terminal && end === 'completed' });
    sent++;
    if (kinds.has('unknown_events')) await writer.text(unknownEvents(sent));
  }
  await writer.flush();
  await exchange.finish();
  exchange.record.end(end);
}

function waitBefore(sent: number, delay: FaultOf<'delay'> | undefined): number | undefined {
  return sent === delay?.pause?.afterEvents ? delay.pause.ms : delay?.betweenEventsMs;
}

function isDue(fault: StreamFault, sent: number, event: ProviderEvent): boolean {
  if (fault.kind === 'end' && fault.afterEvents === undefined) return event.terminal;
  return sent === (fault.afterEvents ?? (fault.kind === 'failed' ? 2 : 0));
}

async function writeEnding(
  fault: StreamFault,
  exchange: Exchange,
  answer: Answer,
  { writer, sent }: { readonly writer: StreamWriter; readonly sent: number },
): Promise<void> {
  const { format } = exchange;
  if (fault.kind === 'error_event') await writer.text(eventText(format.errorEvent(errorOf(fault, format), sent)));
  if (fault.kind === 'failed') await writer.text(eventText(format.failedEvent(answer, errorOf(fault, format), sent)));
  await writer.flush();
  if (fault.kind === 'reset') await exchange.reset();
  if (fault.kind === 'stall') await exchange.untilAborted();
  if (fault.kind === 'endless_line') await writer.endlessLine(fault.bytes ?? Number.POSITIVE_INFINITY);
}

/**
 * By default the Messages provider reports overload and the Responses provider an internal error.
 */
function errorOf({ error }: FaultOf<'error_event' | 'failed'>, { name }: SimulatedFormat): ProviderError {
  const usual: ProviderError =
    name === 'messages'
      ? { status: 529, message: 'Overloaded' }
      : { status: 500, code: 'server_error', message: 'The server had an error while processing your request.' };
  return error?.code === undefined && error?.type === undefined
    ? { ...usual, message: error?.message ?? usual.message }
    : { status: 500, ...error, message: error?.message ?? usual.message };
}

function unknownEvents(number: number): string {
  const data = JSON.stringify({ type: 'simulator.unknown', number });
  return `: comment ${number}\n\nevent: keepalive\n\nevent: simulator.unknown\ndata: ${data}\n\n`;
}

/** An event in the format of the stream. */
function eventText({ name, data }: NamedEvent): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

const bytesPerWrite = 16 * 1024;
const eventsPerWrite = 64;
const pieceLengths = [1, 2, 3, 5, 7, 11];

class StreamWriter {
  readonly #exchange: Exchange;
  readonly #answer: Answer;
  readonly #inPieces: boolean;
  #text = '';
  #events: ProviderEvent[] = [];

  /** @param inPieces whether to write only a few bytes at a time */
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
    if (this.#text.length >= bytesPerWrite || this.#events.length >= eventsPerWrite) await this.flush();
  }

  async wait(durationMs: number): Promise<void> {
    if (durationMs === 0) return;
    await this.flush();
    await sleep(durationMs, { signal: this.#exchange.signal });
  }

  async endlessLine(bytes: number): Promise<void> {
    await this.#write('data: ');
    for (let left = bytes; left > 0; left -= bytesPerWrite) {
      await this.#write('x'.repeat(Math.min(left, bytesPerWrite)));
    }
  }

  /**
   * Sends everything so far, at least the headers. Events are billed immediately before their bytes
   * are handed to the connection.
   */
  async flush(): Promise<void> {
    if (this.#text === '') return this.#exchange.response.flushHeaders();
    const text = this.#text;
    const lastEvent = this.#events.at(-1);
    this.#exchange.record.state.eventsSent += this.#events.length;
    if (lastEvent !== undefined) this.#exchange.bill(this.#answer, lastEvent);
    this.#text = '';
    this.#events = [];
    const isLast = lastEvent?.terminal === true;
    if (this.#inPieces) await this.#writePieces(Buffer.from(text), isLast);
    else await this.#write(text, isLast);
  }

  /**
   * @param isLast whether the answer is complete with these bytes, even if the client does not wait
   *   for the end of the connection
   */
  async #write(bytes: string | Uint8Array, isLast = false): Promise<void> {
    const { response, signal, record } = this.#exchange;
    signal.throwIfAborted();
    record.sending();
    if (isLast) record.end('completed');
    if (response.write(bytes)) await yieldToEventLoop();
    else await once(response, 'drain', { signal });
    signal.throwIfAborted();
  }

  async #writePieces(bytes: Buffer, isLast: boolean): Promise<void> {
    let position = 0;
    for (let piece = 0; position < bytes.length; piece++) {
      const length = pieceLengths[piece % pieceLengths.length] ?? 1;
      await this.#write(bytes.subarray(position, position + length), isLast && position + length >= bytes.length);
      position += length;
    }
  }
}
