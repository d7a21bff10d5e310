import {
  type AnswerEnding,
  type AnswerReader,
  brokenStream,
  type ProviderAnswer,
  type QuotaWindow,
  type UpstreamFailure,
  type UpstreamHead,
} from '@gateway/adapter-kit';
import type { ReportedUsage } from '@gateway/chat';
import { asObject, asString, parseJson } from '@gateway/json';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { lastSealedReasoning } from '@gateway/sealed-reasoning';
import { EventSplitter, RelayBuffer, SseOverflowError, StreamPiece } from '@gateway/sse';
import type { ProviderEvent, ResponseEnded } from './event-types.ts';
import { mapStreamError } from './map-stream-error.ts';
import { OutputItems } from './output-items.ts';
import { parseProviderEvent } from './parse-event.ts';
import { plainDeltaCharacters } from './plain-delta-characters.ts';
import { ProducedCharacters } from './produced-characters.ts';
import { readProviderError } from './provider-error.ts';
import { RawEvent } from './raw-event.ts';
import { relayHead } from './relay-head.ts';
import { relayedKind } from './relayed-event-types.ts';
import { ToldWindows } from './told-windows.ts';

export interface RelayAnswerReaderOptions {
  /** Epoch milliseconds from which resets that are durations count. */
  readonly nowMs: number;
}

/**
 * Relays the provider's events as they came, whole events at a time. What a response begins with is held back until its
 * first content: as long as an account has said nothing, another one may take its place. The one change to an event is
 * an empty `output` at the end, which is filled with the items that were told before: clients read their answer there.
 */
export class RelayAnswerReader implements AnswerReader {
  readonly #nowMs: number;
  readonly #splitter = new EventSplitter({
    maxEventBytes,
    onEvent: (piece, start, end) => this.#onBytes(piece, start, end),
  });
  readonly #buffer = new RelayBuffer();
  readonly #items = new OutputItems();
  readonly #produced = new ProducedCharacters();
  #providerHeaders: UpstreamHead['headers'] = {};
  readonly #windows: ToldWindows;
  /** What an `error` event said that may be the end. */
  #error: UpstreamFailure | undefined;
  answerId: string | undefined;
  sealedReasoning: string | undefined;
  hasContent = false;
  ending: AnswerEnding | undefined;
  reportedUsage: ReportedUsage | undefined;

  constructor({ nowMs }: RelayAnswerReaderOptions) {
    this.#nowMs = nowMs;
    this.#windows = new ToldWindows(nowMs);
  }

  get head(): AnswerReader['head'] {
    return relayHead(this.#providerHeaders);
  }

  get quotas(): readonly QuotaWindow[] {
    return this.#windows.all;
  }

  get producedCharacters(): number {
    return this.#produced.total;
  }

  onHead({ headers }: UpstreamHead): void {
    this.#providerHeaders = headers;
  }

  /** An event that is too large breaks the stream. */
  push(bytes: Uint8Array): void {
    try {
      this.#splitter.push(bytes);
    } catch (thrown) {
      if (!(thrown instanceof SseOverflowError)) throw thrown;
      if (this.ending === undefined) this.#fail(brokenStream());
    }
  }

  /** A response that has not ended by then is broken, unless an error was its end. Half an event is not relayed. */
  end(): void {
    const rest = new RawEvent(new StreamPiece(this.#splitter.end()));
    if (this.ending !== undefined || relayedKind(rest.type ?? '') === 'last') this.#onEvent(rest);
    if (this.ending !== undefined) return;
    if (this.#error !== undefined) this.#finish(undefined, this.#error);
    else this.#fail(brokenStream());
  }

  take(): Uint8Array {
    return this.#buffer.take();
  }

  #onBytes(piece: StreamPiece, start: number, end: number): void {
    const characters = this.ending === undefined ? plainDeltaCharacters(piece.text, start, end) : undefined;
    if (characters === undefined) return this.#onEvent(new RawEvent(piece, start, end));
    this.#produced.addDelta(characters);
    this.#beginContent();
    this.#buffer.release(piece, start, end);
  }

  #onEvent(event: RawEvent): void {
    if (this.#isRelayedWhole && event.isDone) this.#release(event);
    if (this.ending !== undefined) return;
    if (event.isDone || event.data.length === 0) this.#onAside(event);
    else this.#onData(event, event.type);
  }

  #onData(event: RawEvent, type: string | undefined): void {
    if (type === undefined) return this.#onUnreadable(event);
    const kind = relayedKind(type);
    if (kind === 'content') this.#onContent(event, type);
    else if (kind === 'preamble') this.#onPreamble(event, type);
    else this.#onLast(event);
  }

  /** Comments, keep-alives and the like go with what comes next, until there is content and after an error. */
  #onAside(event: RawEvent): void {
    if (this.hasContent && this.#error === undefined) this.#release(event);
    else this.#hold(event);
  }

  /** Before the first content another account may do better; after it, what it means is the client's business. */
  #onUnreadable(event: RawEvent): void {
    if (!this.hasContent) return this.#fail(brokenStream());
    this.#beginContent();
    this.#release(event);
  }

  #onPreamble(event: RawEvent, type: string): void {
    this.#onAside(event);
    if (type === 'codex.rate_limits') this.#onRateLimits(event);
    else this.answerId ??= readAnswerId(event);
  }

  #onRateLimits(event: RawEvent): void {
    const limits = parse(event);
    if (limits?.kind === 'rate-limits') this.#windows.onRateLimits(limits);
  }

  #onContent(event: RawEvent, type: string): void {
    this.#produced.add(event, type);
    if (type === 'response.output_item.done') this.#onItemDone(event);
    this.#beginContent();
    this.#release(event);
  }

  #onItemDone(event: RawEvent): void {
    this.#items.add(event);
    this.sealedReasoning = lastSealedReasoning(event.data, 'encrypted_content') ?? this.sealedReasoning;
  }

  /** The response has ended, in whatever way. An end that can't be read is none. */
  #onLast(event: RawEvent): void {
    const last = parse(event);
    if (last?.kind === 'response-ended') this.#onResponseEnded(event, last);
    else if (last?.kind === 'error') this.#onError(event, last.error);
    else this.#fail(brokenStream());
  }

  #onResponseEnded(event: RawEvent, { status, usage, output, error }: ResponseEnded): void {
    this.reportedUsage = usage ?? this.reportedUsage;
    this.answerId ??= readAnswerId(event);
    if (status === 'failed' || status === 'cancelled') {
      const failure = status === 'failed' ? this.#failureOf(error) : brokenStream();
      if (this.#isFinal(failure)) this.#finish(event.bytes, failure);
      else this.#failBeforeContent(failure, event);
    } else {
      this.#finish(output.length === 0 ? this.#items.fillInto(event) : event.bytes);
    }
  }

  /** The end is `response.failed`, where a backend sends it after the error, or else the end of the stream. */
  #onError(event: RawEvent, error: unknown): void {
    const failure = this.#failureOf(error);
    if (!this.#isFinal(failure)) return this.#failBeforeContent(failure, event);
    this.#error = failure;
    this.hasContent = true;
    this.#hold(event);
  }

  #failureOf(error: unknown): UpstreamFailure {
    return mapStreamError(readProviderError(error, this.#nowMs), this.#windows.exhaustedUntilMs);
  }

  /** True when nothing else may follow: the client has part of the answer, or the request itself is at fault. */
  #isFinal({ result, meaning }: UpstreamFailure): boolean {
    if (this.hasContent) return true;
    return result === AttemptResult.REJECTED && meaning !== 'unreadable_reasoning';
  }

  #failBeforeContent(failure: UpstreamFailure, event: RawEvent): void {
    this.#fail({ ...failure, answer: this.#answerToPassOn(event.bytes) });
  }

  /** All that came, or at least the failure; undefined when even that is too large to pass on. */
  #answerToPassOn(failing: Buffer): ProviderAnswer | undefined {
    const whole = Buffer.concat([...this.#buffer.held, failing]);
    const body = [whole, failing].find(({ length }) => length <= maxPassedBytes);
    return body && { status: 200, contentType: this.head.headers['content-type'] ?? '', body };
  }

  #beginContent(): void {
    this.hasContent = true;
    this.#error = undefined;
  }

  #release({ piece, start, end }: RawEvent): void {
    this.#buffer.release(piece, start, end);
  }

  #hold({ piece, start, end }: RawEvent): void {
    this.#buffer.hold(piece, start, end);
  }

  /** All that came is the client's, also what the provider said of a failure. */
  #finish(last?: Buffer, failure?: UpstreamFailure): void {
    this.hasContent = true;
    if (last === undefined) this.#buffer.releaseHeld();
    else this.#buffer.releaseMade(last);
    this.ending = failure === undefined ? { kind: 'finished' } : { kind: 'failed', failure, isRelayed: true };
  }

  get #isRelayedWhole(): boolean {
    const { ending } = this;
    return ending?.kind === 'finished' || (ending?.kind === 'failed' && ending.isRelayed === true);
  }

  #fail(failure: UpstreamFailure): void {
    this.ending = { kind: 'failed', failure };
  }
}

/** The first and the last event repeat the request's instructions and tools, and the last one the whole answer. */
const maxEventBytes = 32 * 1024 * 1024;
/** The most that an outcome carries of a provider's answer. */
const maxPassedBytes = 64 * 1024;

function parse(event: RawEvent): ProviderEvent | undefined {
  const parsed = parseProviderEvent(parseJson(event.text), event.name);
  return parsed.kind === 'known' ? parsed.event : undefined;
}

function readAnswerId(event: RawEvent): string | undefined {
  return asString(asObject(asObject(parseJson(event.text))?.response)?.id);
}
