import {
  type AnswerReader,
  type AttemptFailure,
  brokenStream,
  type ClientRequest,
  EventStreamReader,
  type ProviderAnswer,
  type QuotaWindow,
  type ReasoningState,
  type UpstreamHead,
} from '@gateway/adapter-kit';
import { type FinishReason, type ReportedUsage, streamHeaders } from '@gateway/chat';
import { lastReasoningIn } from '@gateway/encrypted-reasoning';
import { asArray, asCount, asNumber, asObject, asString, type JsonObject, parseJson } from '@gateway/json';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { RelayBuffer, readEvent } from '@gateway/sse';
import { mapFinishReason } from './answer-writer.ts';
import { eventType, readIncompleteReason, readResponseEnd } from './event-reader.ts';
import { mapStreamError } from './map-upstream-error.ts';
import { OutputItems } from './output-items.ts';
import { EventQuotas } from './read-quotas.ts';
import { ReasoningItems } from './read-reasoning.ts';
import { UsageReports } from './usage-reports.ts';

/** One event, raw and parsed. */
interface RelayedEvent {
  readonly bytes: Buffer;
  readonly data: string;
  readonly json: JsonObject;
  readonly type: string;
}

/**
 * Relays the provider's events unchanged, in whole events. The start of a response is held back
 * until its first content: until then another account may be tried. The only change to an event is
 * an empty `output` at the end, which is filled with the earlier items, because clients read their
 * answer there.
 */
export class RelayAnswerReader extends EventStreamReader implements AnswerReader {
  readonly #buffer = new RelayBuffer();
  readonly #items = new OutputItems();
  readonly #produced = new ProducedCharacters();
  readonly #reasoning = new ReasoningItems();
  readonly #usage = new UsageReports();
  readonly #quotas: EventQuotas;
  #providerHeaders: UpstreamHead['headers'] = {};
  /** The failure in an `error` event that may be the end. */
  #error: AttemptFailure | undefined;
  #hasToolCalls = false;
  answerId: string | undefined;
  createdAt: number | undefined;
  nextSequenceNumber = 0;
  encryptedReasoning: string | undefined;
  finishReason: FinishReason | undefined;
  answeringModel: string | undefined;
  hasContent = false;
  affinityMissed = false;

  /** @param nowMs epoch milliseconds from which relative resets are counted */
  constructor({ nowMs, maxEventBytes }: Pick<ClientRequest, 'nowMs' | 'maxEventBytes'>) {
    super(maxEventBytes);
    this.#quotas = new EventQuotas(nowMs);
  }

  onHead({ headers, skewMs }: UpstreamHead): void {
    this.#quotas.skewMs = skewMs;
    this.#providerHeaders = headers;
  }

  get head(): AnswerReader['head'] {
    const { 'content-type': given = '', 'x-codex-turn-state': turnState } = this.#providerHeaders;
    return {
      status: 200,
      headers: {
        ...streamHeaders,
        ...(/^text\/event-stream\b/i.test(given) ? { 'content-type': given } : {}),
        // A client sends it back in the next request of the same turn.
        ...(turnState === undefined ? {} : { 'x-codex-turn-state': turnState }),
      },
    };
  }

  get reportedUsage(): ReportedUsage | undefined {
    return this.#usage.reported;
  }

  get quotas(): readonly QuotaWindow[] {
    return this.#quotas.windows;
  }

  get producedCharacters(): number {
    return this.#produced.total + this.#reasoning.producedCharacters;
  }

  get reasoning(): ReasoningState | undefined {
    return this.#reasoning.state;
  }

  take(): Buffer {
    return this.#buffer.take();
  }

  /**
   * A response that has not ended by then is broken, unless it ended with an error. Half an event
   * is not relayed.
   */
  protected override onRest(rest: Buffer): void {
    // Only a large event that starts like a last one is read.
    const isSmall = rest.length <= maxPassedBytes;
    const { name, data = '' } = readEvent(isSmall ? rest : rest.subarray(0, 1_024));
    const json = isSmall ? asObject(parseJson(data)) : undefined;
    const isLast = lastTypes.has(json === undefined ? leadingType(data) : eventType(json, name));
    if (this.result !== undefined || isLast) this.onEvent(rest);
    if (this.result === undefined && this.#error !== undefined) this.#finish(undefined, this.#error);
  }

  protected override onEvent(bytes: Buffer): void {
    const { name, data = '' } = readEvent(bytes);
    const isDone = data === '[DONE]';
    if (this.#isRelayedWhole && isDone) this.#buffer.release(bytes);
    if (this.result !== undefined) return;
    if (isDone || data === '') return this.#onAside(bytes);
    const json = asObject(parseJson(data));
    if (json === undefined) this.#onUnreadable(bytes, data);
    else this.#onParsed({ bytes, data, json, type: eventType(json, name) });
  }

  #onParsed(event: RelayedEvent): void {
    if (lastTypes.has(event.type)) this.#onLast(event);
    else if (preambleTypes.has(event.type) || event.type.startsWith('codex.')) this.#onPreamble(event);
    else this.#onContent(event);
  }

  /**
   * Comments, keep-alives and the like are sent with the next event, until there is content and
   * after an error.
   */
  #onAside(bytes: Buffer): void {
    if (this.hasContent && this.#error === undefined) this.#buffer.release(bytes);
    else this.#buffer.hold(bytes);
  }

  /**
   * Before the first content another account may do better, and an unreadable end is not an end.
   * After it, the client interprets other events.
   */
  #onUnreadable(bytes: Buffer, data: string): void {
    if (!this.hasContent || lastTypes.has(leadingType(data))) return this.fail(brokenStream());
    this.#beginContent();
    this.#buffer.release(bytes);
  }

  #onPreamble({ bytes, json, type }: RelayedEvent): void {
    this.#onAside(bytes);
    this.#readNumber(json);
    if (type === 'codex.rate_limits') this.#quotas.add(json);
    else this.#readIdentity(json);
  }

  #onContent({ bytes, data, json, type }: RelayedEvent): void {
    this.#produced.add(json, type);
    this.#reasoning.read(json, type);
    this.#readNumber(json);
    if (type === 'response.output_item.done') {
      this.#items.add(data, json);
      this.#usage.onItemDone(json.item);
      this.#hasToolCalls ||= clientCalls.has(asString(asObject(json.item)?.type) ?? '');
      this.encryptedReasoning = lastReasoningIn(Buffer.from(data), 'encrypted_content') ?? this.encryptedReasoning;
    }
    this.#beginContent();
    this.#buffer.release(bytes);
  }

  /** The response has ended, in whatever way. */
  #onLast(event: RelayedEvent): void {
    if (event.type === 'error') this.#onError(event);
    else this.#onResponseEnd(event);
  }

  #onResponseEnd({ bytes, json, type }: RelayedEvent): void {
    const { status, response } = readResponseEnd(json, type);
    this.#usage.onResponse(response);
    this.answeringModel = asString(response.model);
    this.#readIdentity(json);
    if (status === 'failed' || status === 'cancelled') {
      const failure = status === 'failed' ? mapStreamError(response, this.#quotas) : brokenStream();
      if (this.#isFinal(failure)) this.#finish(bytes, failure);
      else this.#failBeforeContent(failure, bytes);
    } else {
      const incompleteReason = readIncompleteReason(response);
      this.finishReason = mapFinishReason({ status, incompleteReason, hasToolCalls: this.#hasToolCalls });
      this.#finish(asArray(response.output).length === 0 ? this.#items.fillInto(bytes) : bytes);
    }
  }

  /**
   * The end is `response.failed`, if a backend sends it after the error, or else the end of the
   * stream.
   */
  #onError({ bytes, json }: RelayedEvent): void {
    const failure = mapStreamError(json, this.#quotas);
    if (!this.#isFinal(failure)) return this.#failBeforeContent(failure, bytes);
    this.#error = failure;
    this.hasContent = true;
    this.#buffer.hold(bytes);
  }

  /**
   * True when nothing else may follow: the client has part of the answer, or the request itself is
   * invalid.
   */
  #isFinal({ result, meaning }: AttemptFailure): boolean {
    if (this.hasContent) return true;
    return result === AttemptResult.REJECTED && meaning !== 'unreadable_reasoning';
  }

  #failBeforeContent(failure: AttemptFailure, failing: Buffer): void {
    this.fail({ ...failure, answer: this.#answerToPassOn(failing) });
  }

  /**
   * All bytes so far, or at least the failure; undefined when even that is too large to pass on.
   */
  #answerToPassOn(failing: Buffer): ProviderAnswer | undefined {
    const whole = Buffer.concat([...this.#buffer.held, failing]);
    const body = [whole, failing].find(({ length }) => length <= maxPassedBytes);
    return body && { status: 200, contentType: this.head.headers['content-type'] ?? '', body };
  }

  #readIdentity(json: JsonObject): void {
    const response = asObject(json.response);
    this.#usage.onResponse(response ?? {});
    this.answerId ??= asString(response?.id);
    this.createdAt ??= asNumber(response?.created_at);
    this.answeringModel ??= asString(response?.model);
    const isOfAnother = (removed: unknown) => asObject(removed)?.reason === 'organization_mismatch';
    this.affinityMissed ||= asArray(response?.input_transformations).some(isOfAnother);
  }

  #readNumber({ sequence_number }: JsonObject): void {
    const next = (asCount(sequence_number) ?? -1) + 1;
    if (next <= maxSequenceNumber) this.nextSequenceNumber = Math.max(this.nextSequenceNumber, next);
  }

  #beginContent(): void {
    this.hasContent = true;
    this.#error = undefined;
  }

  /** Everything that arrived is for the client, including the provider's report of a failure. */
  #finish(last?: Buffer, failure?: AttemptFailure): void {
    this.hasContent = true;
    if (last === undefined) this.#buffer.releaseHeld();
    else this.#buffer.release(last);
    this.result = failure === undefined ? { kind: 'finished' } : { kind: 'failed', failure, isRelayed: true };
  }

  get #isRelayedWhole(): boolean {
    const { result } = this;
    return result?.kind === 'finished' || (result?.kind === 'failed' && result.isRelayed === true);
  }
}

/** What a frame of `Execute` can hold. */
const maxSequenceNumber = 2 ** 32 - 1;

/** The maximum size of a provider's answer in an outcome. */
const maxPassedBytes = 64 * 1024;

/** Items by which the model calls the client's tools. */
const clientCalls: ReadonlySet<string> = new Set(['function_call', 'custom_tool_call']);

/** Events that report how the response ended. */
const lastTypes: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'error',
]);

/**
 * Events that arrive whether or not the account will answer; so do those of a subscription,
 * `codex.*`.
 */
const preambleTypes: ReadonlySet<string> = new Set([
  'response.created',
  'response.in_progress',
  'response.queued',
  'keepalive',
  'ping',
]);

/** The type at the start of data that is not JSON; empty when there is none. */
function leadingType(data: string): string {
  return /^\s*\{\s*"type"\s*:\s*"([\w.-]+)"/.exec(data)?.[1] ?? '';
}

/**
 * Counts the characters of a response without its reasoning: by its deltas or, on backends that
 * send none, by its finished items.
 */
class ProducedCharacters {
  total = 0;
  #itemHadDeltas = false;

  add(event: JsonObject, type: string): void {
    if (type.startsWith('response.reasoning_')) return;
    if (type.endsWith('.delta')) {
      this.#itemHadDeltas = true;
      this.total += lengthOf(event.delta);
    } else if (type === 'response.output_item.done') {
      if (!this.#itemHadDeltas) this.total += producedByItem(asObject(event.item) ?? {});
      this.#itemHadDeltas = false;
    }
  }
}

function producedByItem(item: JsonObject): number {
  if (item.type === 'reasoning') return 0;
  const parts = asArray(item.content).map((part) => asObject(part) ?? {});
  const inParts = parts.reduce<number>((sum, { text, refusal }) => sum + lengthOf(text) + lengthOf(refusal), 0);
  return inParts + lengthOf(item.arguments) + lengthOf(item.input);
}

function lengthOf(text: unknown): number {
  return asString(text)?.length ?? 0;
}
