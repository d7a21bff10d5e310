import {
  type AnswerReader,
  type AttemptFailure,
  brokenStream,
  EventStreamReader,
  type ReasoningState,
  type UpstreamHead,
} from '@gateway/adapter-kit';
import { type FinishReason, type ReportedUsage, streamHeaders } from '@gateway/chat';
import { reasoningDigest } from '@gateway/encrypted-reasoning';
import { asArray, asObject, asString, type JsonObject, parseJson } from '@gateway/json';
import { RelayBuffer, readEvent, type SseEvent } from '@gateway/sse';
import { mapFinishReason } from './answer-writer.ts';
import { mapStreamError } from './map-upstream-error.ts';
import { ThinkingBlocks } from './read-reasoning.ts';
import { UsageReports } from './usage-reports.ts';

/**
 * Relays a stream of events unchanged, in whole events: no part of an `error` event may be sent,
 * and only its end shows what an event is. Everything is held back until the first content, so that
 * another account can be tried.
 * @see spec "Events"
 */
export class RelayAnswerReader extends EventStreamReader implements AnswerReader {
  readonly #buffer = new RelayBuffer();
  readonly #usage = new UsageReports();
  readonly #thinking = new ThinkingBlocks();
  #head: UpstreamHead = { status: 200, headers: {} };
  #hasBegun = false;
  #signature: string | undefined;
  #stopReason: string | undefined;
  #hasToolCalls = false;
  /** Nothing more is sent. */
  #isOver = false;
  answerId: string | undefined;
  answeringModel: string | undefined;
  hasContent = false;
  affinityMissed = false;
  #writtenCharacters = 0;

  onHead(head: UpstreamHead): void {
    this.#head = head;
  }

  get head(): AnswerReader['head'] {
    const { status, headers } = this.#head;
    const { 'content-type': contentType = streamHeaders['content-type'] } = headers;
    return { status, headers: { ...streamHeaders, 'content-type': contentType } };
  }

  get reportedUsage(): ReportedUsage | undefined {
    return this.#usage.reported;
  }

  get producedCharacters(): number {
    return this.#writtenCharacters + this.#thinking.producedCharacters;
  }

  get reasoning(): ReasoningState | undefined {
    return this.#thinking.state;
  }

  get encryptedReasoning(): string | undefined {
    return this.#signature === undefined ? undefined : reasoningDigest(this.#signature);
  }

  get finishReason(): FinishReason | undefined {
    return this.#stopReason === undefined ? undefined : mapFinishReason(this.#stopReason, this.#hasToolCalls);
  }

  take(): Buffer {
    return this.#buffer.take();
  }

  protected override onEvent(event: Buffer): void {
    if (this.result !== undefined) return this.#onTrailer(event);
    this.#read(readEvent(event));
    if (this.#hasFailed) return;
    if (this.hasContent) this.#buffer.release(event);
    else this.#buffer.hold(event);
  }

  /**
   * The unterminated end of a stream is not an event, unless it still ends the answer or says
   * nothing after its end.
   */
  protected override onRest(rest: Buffer): void {
    const event = readEvent(rest);
    if (this.result !== undefined) {
      if (saysNothing(event, rest)) this.#onTrailer(rest);
      return;
    }
    this.#read(event);
    if (this.result !== undefined && !this.#hasFailed) this.#buffer.release(rest);
  }

  /**
   * What arrives with the end also belongs to the provider's answer: markers, comments, pings. An
   * error no longer changes anything.
   */
  #onTrailer(event: Buffer): void {
    const { failure } = readRelayed(readEvent(event));
    this.#isOver ||= this.#hasFailed || failure !== undefined;
    if (!this.#isOver) this.#buffer.release(event);
  }

  #read(event: SseEvent): void {
    const { failure, json } = readRelayed(event);
    if (failure !== undefined) this.fail(failure);
    else if (json !== undefined) this.#onData(json, asString(json.type) ?? event.name.trim());
  }

  #onData(json: JsonObject, type: string): void {
    this.#thinking.read(json, type);
    switch (type) {
      case 'message_start':
        return this.#onMessageStart(asObject(json.message) ?? {});
      case 'content_block_start':
        return this.#onBlock(json.content_block);
      case 'content_block_delta': {
        const delta = asObject(json.delta) ?? {};
        this.#signature = asString(delta.signature) ?? this.#signature;
        return this.#onContent(writtenByDelta(delta));
      }
      case 'content_block_stop':
        return this.#onContent(0);
      case 'message_delta':
        this.#stopReason = asString(asObject(json.delta)?.stop_reason) ?? this.#stopReason;
        return this.#usage.add(json.usage);
      case 'message_stop':
        return this.#finish();
    }
  }

  /** A message may start with whole blocks and with the reason of its end. */
  #onMessageStart({ id, model, usage, content, stop_reason, input_transformations: changes }: JsonObject): void {
    this.#hasBegun = true;
    this.affinityMissed = lostReasoning(changes);
    this.answerId = asString(id) ?? this.answerId;
    this.answeringModel = asString(model);
    this.#stopReason = asString(stop_reason) ?? this.#stopReason;
    this.#usage.begin(usage);
    for (const block of asArray(content)) this.#onBlock(block);
  }

  #onBlock(block: unknown): void {
    this.#hasToolCalls ||= isToolCall(block);
    this.#onContent(writtenByBlock(block));
  }

  #onContent(characters: number): void {
    this.hasContent = true;
    this.#writtenCharacters += characters;
  }

  #finish(): void {
    if (!this.#hasBegun) return this.fail(brokenStream());
    this.hasContent = true;
    this.result = { kind: 'finished' };
  }

  get #hasFailed(): boolean {
    return this.result?.kind === 'failed';
  }
}

/**
 * The content of an event, or the failure that it reports. The name and the data's `type` should be
 * equal. Clients act on either, so either one can make it an error.
 */
function readRelayed({ name, data = '' }: SseEvent): {
  readonly failure?: AttemptFailure;
  readonly json?: JsonObject;
} {
  const json = asObject(parseJson(data));
  if (name.trim() === 'error' || isError(json)) return { failure: mapStreamError(json) };
  if (json !== undefined) return { json };
  return mayBeUnreadable(name.trim(), data.trim()) ? {} : { failure: brokenStream() };
}

function isError(json: JsonObject | undefined): boolean {
  return json?.type === 'error' || (json?.type === undefined && json?.error !== undefined);
}

/**
 * Comments, the end marker of another format, and events with unknown names: their content is not
 * checked.
 */
function mayBeUnreadable(name: string, data: string): boolean {
  return data === '' || data === '[DONE]' || (name !== '' && !/^(?:message|content_block)_/.test(name));
}

/** A comment or the end marker of another format. Half of another event may be half an error. */
function saysNothing({ name, data = '' }: SseEvent, bytes: Buffer): boolean {
  return data === '[DONE]' || (data === '' && name === '' && bytes[0] === commentStart);
}

const commentStart = 0x3a;

/** Whether thinking in the request was withheld from the model because of who created it. */
export function lostReasoning(changes: unknown): boolean {
  return asArray(changes).some((change) => asObject(change)?.reason === 'organization_binding_mismatch');
}

/**
 * Characters of a content block that the model wrote, without thinking: its text or a tool's
 * arguments.
 */
export function writtenByBlock(value: unknown): number {
  const block = asObject(value);
  if (block === undefined) return 0;
  return writtenByDelta(block) + writtenAsInput(asObject(block.input));
}

/** A call of one of the client's tools. */
export function isToolCall(block: unknown): boolean {
  return asObject(block)?.type === 'tool_use';
}

/** The characters in a delta. Citations are not the model's words. */
function writtenByDelta(delta: JsonObject): number {
  return (asString(delta.text) ?? asString(delta.partial_json) ?? '').length;
}

/** In a stream the arguments follow in deltas, and the block starts without any. */
function writtenAsInput(input: JsonObject | undefined): number {
  return input === undefined || Object.keys(input).length === 0 ? 0 : JSON.stringify(input).length;
}
