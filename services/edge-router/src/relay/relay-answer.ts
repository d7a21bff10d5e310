import { once } from 'node:events';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import { asNumber, asObject, asString, parseJson } from '@gateway/json';
import type { ExecuteOutcome, ExecuteResponse, ResponseHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type AttemptOutcome, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { activeSpan } from '@gateway/telemetry';
import type { Clock } from '@gateway/time';
import { AnswerTooLongError } from '../attempts/attempt-errors.ts';
import { type Answering, attemptOutcome, cancelledOutcome, givenUpBy } from '../attempts/attempt-loop.ts';
import type { Leases } from '../attempts/leases.ts';
import type { EdgeRouterConfig } from '../config.ts';
import type { Affinity, AnswerNames } from '../endpoints/affinity.ts';
import { type ErrorDialect, renderStreamError, type SeenResponse } from '../errors/render-error.ts';
import type { RequestEvents } from '../events.ts';
import { writeHead } from '../http/respond.ts';
import type { AdmittedRequest } from '../routes.ts';
import type { UsageRecorder } from '../usage/usage-recorder.ts';

export interface Relay extends Affinity, Pick<AdmittedRequest, 'requestId' | 'response' | 'signal' | 'trace'> {
  readonly dialect: ErrorDialect;
  readonly answer: Answering;
  readonly recorder: Pick<UsageRecorder, 'onUsage' | 'end'>;
}

interface RelayPeers {
  readonly leases: Pick<Leases, 'report'>;
  readonly clock: Clock;
  readonly config: Pick<EdgeRouterConfig, 'heartbeatMs'>;
  readonly events: Pick<RequestEvents, 'streamBegan' | 'streamEnded'>;
}

/**
 * Carries an answer that has begun to the client, frame by frame. The request is settled before the last byte goes out: a client
 * that has read the end finds it counted. An answer that breaks off ends with one error event and nothing after it.
 */
export class AnswerRelay {
  readonly #relay: Relay;
  readonly #peers: RelayPeers;
  /** Undefined while it has not been written. */
  #head: ResponseHead | undefined;
  #isEventStream = false;
  #heartbeat: NodeJS.Timeout | undefined;
  /** What the client has of a Responses stream. */
  #seen: SeenResponse | undefined;
  /** The last bytes that were written. */
  #tail = Buffer.alloc(0);

  constructor(relay: Relay, peers: RelayPeers) {
    this.#relay = relay;
    this.#peers = peers;
  }

  async run(): Promise<void> {
    const { answer, recorder } = this.#relay;
    try {
      let frame: ExecuteResponse | undefined = answer.first;
      for (; frame !== undefined; frame = (await answer.frames.next()).value) {
        if (frame.outcome !== undefined) return await this.#settle(frame, frame.outcome);
        if (frame.usage !== undefined) recorder.onUsage(frame.usage);
        await this.#write(frame);
      }
    } catch (thrown) {
      await this.#breakOff(thrown);
    } finally {
      clearInterval(this.#heartbeat);
      if (this.#isEventStream) this.#peers.events.streamEnded();
      await answer.frames.return(undefined);
    }
  }

  /** The last frame of an answer. Settles first, then sends it. */
  async #settle(frame: ExecuteResponse, outcome: ExecuteOutcome): Promise<void> {
    const { recorder, trace } = this.#relay;
    trace.onAmended(outcome.amended);
    const attempt = outcome.attempt ?? attemptOutcome(AttemptResult.SUCCEEDED);
    const hasSucceeded = attempt.result === AttemptResult.SUCCEEDED;
    // A provider's own event about its failure is the end of the answer.
    const isWhole = hasSucceeded || outcome.answerComplete;
    if (!isWhole && frame.usage !== undefined) recorder.onUsage(frame.usage);
    if (!isWhole) await this.#write(frame);
    const ended = recorder.end(hasSucceeded ? Outcome.COMPLETED : Outcome.FAILED, isWhole ? frame.usage : undefined);
    const answerId = (frame.head ?? this.#head)?.answerId ?? '';
    const names = hasSucceeded ? { answerId, encryptedReasoning: outcome.encryptedReasoning } : undefined;
    await Promise.all([ended, this.#report(attempt, names)]);
    if (isWhole) this.#end(frame);
    else this.#endWithError(outcome.error === undefined ? brokenOff() : fromErrorDetail(outcome.error));
  }

  /** The client has gone, or the adapter has, or the answer took too long: none is the account's fault. */
  async #breakOff(thrown: unknown): Promise<void> {
    const { recorder, signal } = this.#relay;
    const clientLeft = signal.aborted;
    const ended = recorder.end(clientLeft ? Outcome.ABORTED : Outcome.FAILED);
    await Promise.all([ended, this.#report(cancelledOutcome, undefined, thrown)]);
    if (!clientLeft) this.#endWithError(thrown instanceof AnswerTooLongError ? thrown : brokenOff(thrown));
  }

  /** How the attempt ended, by what later requests may name a whole answer, and what broke off another. */
  #report(outcome: AttemptOutcome, names: AnswerNames | undefined, cause?: unknown): Promise<void> {
    const { requestId, affinityKey, answerKeysOf, answer, signal, trace } = this.#relay;
    const isGivenUp = outcome.result === AttemptResult.CANCELLED;
    trace.onAttemptEnded(outcome, isGivenUp ? givenUpBy(cause, signal) : undefined);
    const answerKeys = names && answerKeysOf?.(names);
    const attempt = { lease: answer.lease, outcome };
    return this.#peers.leases.report({ requestId, affinityKey, attempt, answerKeys: answerKeys ?? [] });
  }

  #endWithError(error: GatewayError): void {
    const { dialect, requestId, response, answer } = this.#relay;
    // Half a JSON object or half an event can't be mended: the client must see that it is incomplete.
    if (!this.#isBetweenEvents) return void response.destroy();
    const id = this.#seen?.id ?? (this.#head?.answerId || undefined);
    const model = this.#seen?.model ?? answer.lease.model;
    const nowMs = this.#peers.clock.nowMs();
    response.end(renderStreamError(error, dialect, { ...this.#seen, id, model, requestId, nowMs }));
  }

  /** Resolves when the client can take more. Throws when it leaves before. */
  async #write({ head, body }: ExecuteResponse): Promise<void> {
    const { response, signal, dialect } = this.#relay;
    if (head !== undefined) this.#begin(head);
    if (body.length === 0) return;
    this.#heartbeat?.refresh();
    if (dialect === 'responses') this.#seen = seenAfter(this.#seen, body);
    this.#tail = Buffer.concat([this.#tail, body.subarray(-eventEndBytes)]).subarray(-eventEndBytes);
    if (!response.write(body)) await once(response, 'drain', { signal });
  }

  #begin(head: ResponseHead): void {
    const { response, dialect } = this.#relay;
    writeHead(response, head.status, this.#headersOf(head));
    this.#onHead(head);
    // Messages streams have pings of their own.
    if (!this.#isBetweenEvents || dialect === 'messages') return;
    this.#heartbeat = setInterval(() => {
      if (this.#isBetweenEvents && !response.writableNeedDrain) response.write(': keep-alive\n\n');
    }, this.#peers.config.heartbeatMs).unref();
  }

  /** Writes the last frame of a whole answer. One that is here in one piece is sent with its length. */
  #end({ head, body }: ExecuteResponse): void {
    const { response } = this.#relay;
    if (this.#head === undefined) {
      const headers = { 'content-length': body.length, ...this.#headersOf(head) };
      writeHead(response, head?.status ?? 200, headers);
      if (head !== undefined) this.#onHead(head);
    }
    response.end(body);
  }

  /** The head of an answer goes out, and with it its first content. */
  #onHead(head: ResponseHead): void {
    this.#head = head;
    this.#isEventStream = head.headers['content-type']?.startsWith('text/event-stream') ?? false;
    if (!this.#isEventStream) return;
    const { trace } = this.#relay;
    trace.onStreaming();
    this.#peers.events.streamBegan(trace);
    activeSpan()?.addEvent('gen_ai.first_token');
  }

  #headersOf(head: ResponseHead | undefined): Readonly<Record<string, string>> {
    const { provider, model } = this.#relay.answer.lease;
    return { 'x-gateway-provider': headerSafe(provider), 'x-gateway-model': headerSafe(model), ...head?.headers };
  }

  /** True when an event may follow: in an event stream, and not within an event. */
  get #isBetweenEvents(): boolean {
    return this.#isEventStream && (this.#tail.length === 0 || eventEnd.test(this.#tail.toString('latin1')));
  }
}

function brokenOff(cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', 'The answer broke off.', { cause });
}

/** A blank line. */
const eventEnd = /(?:\r\n\r\n|\n\n|\r\r)$/;
const eventEndBytes = 4;

/** Header values come from configuration and providers; what HTTP does not allow in them is left out. */
function headerSafe(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, '');
}

/**
 * What a client has seen of a Responses stream after these bytes. Adapters relay whole events; one that is large may come in parts.
 * The first bytes say which response it is. Numbers are found in the text: within a JSON string their quotes have backslashes.
 */
export function seenAfter(seen: SeenResponse | undefined, bytes: Uint8Array): SeenResponse {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const numbers = [...buffer.toString('latin1').matchAll(sequenceNumbers)].map(([, digits]) => Number(digits));
  const lastSequenceNumber = Math.max(seen?.lastSequenceNumber ?? -1, ...numbers);
  return { ...(seen ?? firstEvent(buffer)), lastSequenceNumber };
}

const sequenceNumbers = /"sequence_number"\s*:\s*(\d{1,15})(?!\d)/g;

/** The response that the first event is about; nothing when that is none, or too large to be parsed here. */
function firstEvent(bytes: Buffer): SeenResponse {
  const text = bytes.toString('utf8', 0, maxFirstEventBytes);
  const [event = ''] = text.replace(byteOrderMark, '').split(blankLine, 1);
  const data = event.split(lineEnd).flatMap((line) => dataLine.exec(line)?.[1] ?? []);
  const response = asObject(asObject(parseJson(data.join('\n')))?.response);
  return { id: asString(response?.id), createdAt: asNumber(response?.created_at), model: asString(response?.model) };
}

/** It repeats the request's instructions and tools. */
const maxFirstEventBytes = 1024 * 1024;
const byteOrderMark = /^\ufeff/;
const blankLine = /\r\n\r\n|\n\n|\r\r/;
const lineEnd = /\r\n|\n|\r/;
const dataLine = /^data:? ?(.*)$/;
