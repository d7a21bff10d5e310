import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import type { ExecuteOutcome, ExecuteResponse, ResponseHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type AttemptOutcome, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Clock } from '@gateway/time';
import { AnswerTooLongError } from '../attempts/attempt-errors.ts';
import { type Answering, attemptOutcome, cancelledOutcome } from '../attempts/attempt-loop.ts';
import { type ErrorDialect, renderStreamError } from '../errors/render-error.ts';
import { writeHead } from '../http/respond.ts';
import type { UsageRecorder } from '../usage/usage-recorder.ts';
import { ResponseProgress, type SeenResponse } from './response-progress.ts';

export interface Relay {
  readonly response: ServerResponse;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  readonly dialect: ErrorDialect;
  /** A comment is sent on an event stream that was silent for so long. */
  readonly heartbeatMs: number;
  readonly answer: Answering;
  readonly recorder: Pick<UsageRecorder, 'onUsage' | 'end'>;
  readonly requestId: string;
  readonly clock: Clock;
  /** Reports how the attempt ended, by what later requests may name a whole answer, and what broke off another. Never throws. */
  readonly report: (outcome: AttemptOutcome, names?: AnswerNames, cause?: unknown) => Promise<void>;
  /** Called with how the provider's answer ended, when it did not just break off. */
  readonly onOutcome?: (outcome: ExecuteOutcome) => void;
}

/** By what later requests may refer to an answer. Empty: not by this. */
export interface AnswerNames {
  /** The provider's id of the answer. */
  readonly answerId: string;
  /** Digest of the last encrypted reasoning in it. */
  readonly encryptedReasoning: string;
}

/**
 * Carries an answer that has begun to the client, frame by frame. The request is settled before the last byte goes out: who has
 * read the end finds it counted. An answer that breaks off ends with one error event and nothing after it.
 */
export async function relayAnswer(relay: Relay): Promise<void> {
  const { answer, recorder } = relay;
  using writer = new AnswerWriter(relay);
  try {
    let frame: ExecuteResponse | undefined = answer.first;
    for (; frame !== undefined; frame = (await answer.frames.next()).value) {
      if (frame.outcome !== undefined) return await settle(frame, frame.outcome, writer, relay);
      if (frame.usage !== undefined) recorder.onUsage(frame.usage);
      await writer.write(frame);
    }
  } catch (thrown) {
    await breakOff(thrown, writer, relay);
  } finally {
    await answer.frames.return(undefined);
  }
}

/** The last frame of an answer. Settles first, then sends it. */
async function settle(
  frame: ExecuteResponse,
  outcome: ExecuteOutcome,
  writer: AnswerWriter,
  relay: Relay,
): Promise<void> {
  const { recorder, report, onOutcome } = relay;
  onOutcome?.(outcome);
  const attempt = outcome.attempt ?? attemptOutcome(AttemptResult.SUCCEEDED);
  const hasSucceeded = attempt.result === AttemptResult.SUCCEEDED;
  // A provider's own event about its failure is the end of the answer.
  const isWhole = hasSucceeded || outcome.answerComplete;
  if (!isWhole && frame.usage !== undefined) recorder.onUsage(frame.usage);
  if (!isWhole) await writer.write(frame);
  const ended = recorder.end(hasSucceeded ? Outcome.COMPLETED : Outcome.FAILED, isWhole ? frame.usage : undefined);
  const names = hasSucceeded ? namesOf(outcome, frame.head ?? writer.head) : undefined;
  await Promise.all([ended, report(attempt, names)]);
  if (isWhole) writer.end(frame);
  else endWithError(outcome.error === undefined ? brokenOff() : fromErrorDetail(outcome.error), writer, relay);
}

function namesOf({ encryptedReasoning }: ExecuteOutcome, head: ResponseHead | undefined): AnswerNames {
  return { answerId: head?.answerId ?? '', encryptedReasoning };
}

/** The client has gone, or the adapter has, or the answer took too long: none is the account's fault. */
async function breakOff(thrown: unknown, writer: AnswerWriter, relay: Relay): Promise<void> {
  const { recorder, report, signal } = relay;
  const clientLeft = signal.aborted;
  const ended = recorder.end(clientLeft ? Outcome.ABORTED : Outcome.FAILED);
  await Promise.all([ended, report(cancelledOutcome, undefined, thrown)]);
  if (!clientLeft) endWithError(thrown instanceof AnswerTooLongError ? thrown : brokenOff(thrown), writer, relay);
}

function endWithError(error: GatewayError, writer: AnswerWriter, relay: Relay): void {
  const { dialect, requestId, clock, response } = relay;
  const stream = { requestId, nowMs: clock.nowMs(), seen: writer.seenResponse };
  if (writer.isBetweenEvents) response.end(renderStreamError(error, dialect, stream));
  // Half a JSON object or half an event can't be mended: the client must see that it is incomplete.
  else response.destroy();
}

function brokenOff(cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', 'The answer broke off.', { cause });
}

/** Writes an answer's frames to its client, no faster than the client reads. */
class AnswerWriter implements Disposable {
  readonly #relay: Relay;
  /** Undefined while it has not been written. */
  head: ResponseHead | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  /** Only of a Responses stream. */
  #progress: ResponseProgress | undefined;
  /** The last bytes that were written. */
  #tail = Buffer.alloc(0);

  constructor(relay: Relay) {
    this.#relay = relay;
  }

  /** True when an event may follow: in an event stream, and not within an event. */
  get isBetweenEvents(): boolean {
    const isEventStream = this.head?.headers['content-type']?.startsWith('text/event-stream') ?? false;
    return isEventStream && (this.#tail.length === 0 || eventEnd.test(this.#tail.toString('latin1')));
  }

  /** What the client has of a Responses stream. */
  get seenResponse(): SeenResponse | undefined {
    const seen = this.#progress?.seen;
    const { model } = this.#relay.answer.lease;
    return seen && { ...seen, id: seen.id ?? (this.head?.answerId || undefined), model: seen.model ?? model };
  }

  /** Resolves when the client can take more. Throws when it leaves before. */
  async write({ head, body }: ExecuteResponse): Promise<void> {
    const { response, signal } = this.#relay;
    if (head !== undefined) this.#begin(head);
    if (body.length === 0) return;
    this.#heartbeat?.refresh();
    this.#progress?.onBytes(body);
    this.#tail = Buffer.concat([this.#tail, body.subarray(-eventEndBytes)]).subarray(-eventEndBytes);
    if (!response.write(body)) await once(response, 'drain', { signal });
  }

  /** Writes the last frame of a whole answer. One that is here in one piece is sent with its length. */
  end({ head, body }: ExecuteResponse): void {
    const { response } = this.#relay;
    if (this.head === undefined) {
      const headers = { 'content-length': body.length, ...this.#headersOf(head) };
      writeHead(response, head?.status ?? 200, headers);
    }
    response.end(body);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#heartbeat);
  }

  #begin(head: ResponseHead): void {
    const { response, dialect, heartbeatMs } = this.#relay;
    writeHead(response, head.status, this.#headersOf(head));
    this.head = head;
    // Messages streams have pings of their own.
    if (!this.isBetweenEvents || dialect === 'messages') return;
    if (dialect === 'responses') this.#progress = new ResponseProgress();
    this.#heartbeat = setInterval(() => {
      if (this.isBetweenEvents && !response.writableNeedDrain) response.write(': keep-alive\n\n');
    }, heartbeatMs).unref();
  }

  #headersOf(head: ResponseHead | undefined): Readonly<Record<string, string>> {
    const { provider, model } = this.#relay.answer.lease;
    return { 'x-gateway-provider': headerSafe(provider), 'x-gateway-model': headerSafe(model), ...head?.headers };
  }
}

/** A blank line. */
const eventEnd = /(?:\r\n\r\n|\n\n|\r\r)$/;
const eventEndBytes = 4;

/** Header values come from configuration and providers; what HTTP does not allow in them is left out. */
function headerSafe(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, '');
}
