import {
  type AnswerEnding,
  type AnswerReader,
  brokenStream,
  type UpstreamFailure,
  type UpstreamHead,
} from '@gateway/adapter-kit';
import type { ReportedUsage } from '@gateway/chat';
import { digestOfSeal } from '@gateway/sealed-reasoning';
import { EventSplitter, RelayBuffer, SseOverflowError, StreamPiece } from '@gateway/sse';
import { charactersOfPlainDelta } from './characters-of-plain-delta.ts';
import { convertUsage, nothingReported, replaceUsage } from './convert-usage.ts';
import type { ReportedCounts } from './event-types.ts';
import { mapStreamError } from './map-stream-error.ts';
import { type RelayedEvent, readRelayedEvent } from './read-relayed-event.ts';

/**
 * Relays a stream of events as it came, whole events at a time: of an `error` event nothing may go out, and what an event
 * is shows when it has ended. Until the first content everything is held back, so that another account can be tried.
 * @see spec "Events"
 */
export class RelayAnswerReader implements AnswerReader {
  readonly #splitter = new EventSplitter({
    maxEventBytes,
    onEvent: (piece, start, end) => this.#onBytes(piece, start, end),
  });
  #head: UpstreamHead = { status: 200, headers: {} };
  readonly #buffer = new RelayBuffer();
  #hasBegun = false;
  #usage = nothingReported;
  #seal: string | undefined;
  answerId: string | undefined;
  hasContent = false;
  ending: AnswerEnding | undefined;
  producedCharacters = 0;
  reportedUsage: ReportedUsage | undefined;

  onHead(head: UpstreamHead): void {
    this.#head = head;
  }

  get head(): AnswerReader['head'] {
    const { status, headers } = this.#head;
    return {
      status,
      headers: {
        'content-type': headers['content-type'] ?? 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        // Asks reverse proxies to pass events on as they come.
        'x-accel-buffering': 'no',
      },
    };
  }

  get sealedReasoning(): string | undefined {
    return this.#seal === undefined ? undefined : digestOfSeal(this.#seal);
  }

  /** An event that is too large breaks the stream. */
  push(bytes: Uint8Array): void {
    if (this.ending !== undefined) return;
    try {
      this.#splitter.push(bytes);
    } catch (thrown) {
      if (!(thrown instanceof SseOverflowError)) throw thrown;
      this.#fail(brokenStream());
    }
  }

  /** What a stream breaks off in is no event, unless it ends the answer all the same. */
  end(): void {
    if (this.ending !== undefined) return;
    const rest = new StreamPiece(this.#splitter.end());
    const event = readRelayedEvent(rest, 0, rest.bytes.length);
    if (event.kind === 'stop' || event.kind === 'error') this.#onEvent(event, rest, 0, rest.bytes.length);
    this.#fail(brokenStream());
  }

  take(): Uint8Array {
    return this.#buffer.take();
  }

  #onBytes(piece: StreamPiece, start: number, end: number): void {
    if (this.ending !== undefined) return;
    const characters = charactersOfPlainDelta(piece.text, start, end);
    if (characters === undefined) return this.#onEvent(readRelayedEvent(piece, start, end), piece, start, end);
    this.hasContent = true;
    this.producedCharacters += characters;
    this.#buffer.release(piece, start, end);
  }

  #onEvent(event: RelayedEvent, piece: StreamPiece, start: number, end: number): void {
    this.#read(event);
    if (this.#hasFailed) return;
    if (this.hasContent) this.#buffer.release(piece, start, end);
    else this.#buffer.hold(piece, start, end);
  }

  #read(event: RelayedEvent): void {
    switch (event.kind) {
      case 'start':
        this.#hasBegun = true;
        this.answerId = event.id ?? this.answerId;
        this.#onUsage(event.usage);
        break;
      case 'content':
        this.hasContent = true;
        this.producedCharacters += event.characters;
        this.#seal = event.seal ?? this.#seal;
        break;
      case 'usage':
        this.#onUsage(event.usage);
        break;
      case 'stop':
        this.#finish();
        break;
      case 'error':
        this.#fail(mapStreamError(event.error));
        break;
      case 'malformed':
        this.#fail(brokenStream());
        break;
    }
  }

  #onUsage(usage: ReportedCounts): void {
    this.#usage = replaceUsage(this.#usage, usage);
    this.reportedUsage = convertUsage(this.#usage);
  }

  #finish(): void {
    if (!this.#hasBegun) return this.#fail(brokenStream());
    this.hasContent = true;
    this.ending = { kind: 'finished' };
  }

  get #hasFailed(): boolean {
    return this.ending?.kind === 'failed';
  }

  #fail(failure: UpstreamFailure): void {
    this.ending ??= { kind: 'failed', failure };
  }
}

const maxEventBytes = 4 * 1024 * 1024;
