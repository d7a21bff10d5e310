import { once } from 'node:events';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import type { ExecuteResponse, ExecuteResult, ResponseHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type AttemptReport, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { activeSpan } from '@gateway/telemetry';
import { cancelTimer, epochMs, startInterval, type Timer } from '@gateway/time';
import { AnswerTooLongError } from '../attempts/attempt-errors.ts';
import { type Answering, cancelledReport, cancelReasonOf, reportOf } from '../attempts/attempt-loop.ts';
import type { Leases } from '../attempts/leases.ts';
import type { Call, CallEnd } from '../call.ts';
import type { EdgeRouterConfig } from '../config.ts';
import type { Affinity, AnswerNames } from '../endpoints/affinity.ts';
import { renderStreamError } from '../errors/render-error.ts';
import type { RequestEvents } from '../events.ts';
import { writeHead } from '../http/respond.ts';

export interface Relay extends Affinity {
  readonly call: Call;
  readonly answer: Answering;
}

interface RelayPeers {
  readonly leases: Pick<Leases, 'report'>;
  readonly config: Pick<EdgeRouterConfig, 'heartbeatMs'>;
  readonly events: Pick<RequestEvents, 'streamBegan' | 'streamEnded'>;
}

/**
 * Relays a started answer to the client, frame by frame. The request is settled before the last
 * byte is sent, so that a client that has read the end finds it counted. A broken event stream ends
 * with one error event. If it breaks inside an event, or is no event stream, the connection is
 * closed.
 */
export async function relayAnswer(relay: Relay, { leases, config, events }: RelayPeers): Promise<void> {
  const { call, answer, affinityKey, answerKeysOf } = relay;
  const { id: requestId, response, signal } = call;
  const dialect = call.route.errorDialect;
  /** Undefined until it is written. */
  let sentHead: ResponseHead | undefined;
  let isEventStream = false;
  let heartbeat: Timer | undefined;
  let nextSequenceNumber = 0;
  /** The last bytes that were written. */
  let tail = Buffer.alloc(0);

  try {
    for (let frame = answer.first; ; frame = await answer.frames.next()) {
      if (frame.result !== undefined) return await settle(frame, frame.result);
      if (frame.usage !== undefined) call.usage?.onUsage(frame.usage);
      await write(frame);
    }
  } catch (thrown) {
    await breakOff(thrown);
  } finally {
    cancelTimer(heartbeat);
    if (isEventStream) events.streamEnded();
    answer.frames.close();
  }

  /** The last frame of an answer: settles first, then sends the frame. */
  async function settle(frame: ExecuteResponse, result: ExecuteResult): Promise<void> {
    call.onAmended(result.amended);
    const attempt = result.attempt ?? reportOf(AttemptResult.SUCCEEDED);
    const hasSucceeded = attempt.result === AttemptResult.SUCCEEDED;
    // If the provider ended the stream with its own error event, the answer is complete: the
    // gateway adds none.
    const isWhole = hasSucceeded || result.answerComplete;
    if (!isWhole && frame.usage !== undefined) call.usage?.onUsage(frame.usage);
    if (!isWhole) await write(frame);
    const rest = isWhole ? await writeMost(frame) : frame;
    const answerId = (frame.head ?? sentHead)?.answerId ?? '';
    const names = hasSucceeded ? { answerId, encryptedReasoning: result.encryptedReasoning } : undefined;
    // Where no error event can follow, the connection is closed.
    const status = isWhole || isBetweenEvents() ? ((frame.head ?? sentHead)?.status ?? 200) : 499;
    await endCall({ status, usage: isWhole ? frame.usage : undefined }, attempt, names);
    if (isWhole) end(rest);
    else endWithError(result.error === undefined ? brokenOff() : fromErrorDetail(result.error));
  }

  /**
   * Called when the client disconnected, the adapter was lost, or the answer took too long: the
   * account is not the cause.
   */
  async function breakOff(thrown: unknown): Promise<void> {
    const clientLeft = signal.aborted;
    await endCall({ status: isBetweenEvents() ? response.statusCode : 499 }, cancelledReport, undefined, thrown);
    if (!clientLeft) endWithError(thrown instanceof AnswerTooLongError ? thrown : brokenOff(thrown));
  }

  /**
   * Ends the request and reports the attempt's result: for a whole answer with the names by which
   * later requests may refer to it; otherwise with the cause of the failure.
   */
  async function endCall(
    { status, usage }: Pick<CallEnd, 'status' | 'usage'>,
    report: AttemptReport,
    names: AnswerNames | undefined,
    cause?: unknown,
  ): Promise<void> {
    const isCancelled = report.result === AttemptResult.CANCELLED;
    call.onAttemptEnded(report, isCancelled ? cancelReasonOf(cause, signal) : undefined);
    const clientLeft = signal.aborted;
    const end = { status: clientLeft ? 499 : status, clientLeft, hasBegun: true, usage };
    const answerKeys = (names && answerKeysOf?.(names)) ?? [];
    const attempt = { lease: answer.lease, report };
    await Promise.all([call.end(end), leases.report({ requestId, affinityKey, attempt, answerKeys })]);
  }

  function endWithError(error: GatewayError): void {
    // Half a JSON object or half an event can't be completed: the client must see that it is
    // incomplete.
    if (!isBetweenEvents()) return void response.destroy();
    const id = sentHead?.answerId || `resp_${requestId}`;
    const model = sentHead?.model || answer.lease.model;
    const createdAt = sentHead?.createdAt || Math.floor(epochMs() / 1_000);
    response.end(renderStreamError(error, dialect, { id, model, createdAt, nextSequenceNumber }));
  }

  /** Resolves when the client can take more. Throws if the client disconnects first. */
  async function write({ head, body, nextSequenceNumber: next }: ExecuteResponse): Promise<void> {
    if (head !== undefined) begin(head);
    if (body.length === 0) return;
    heartbeat?.refresh();
    nextSequenceNumber = next;
    tail = Buffer.concat([tail, body.subarray(-eventEndBytes)]).subarray(-eventEndBytes);
    if (!response.write(body)) await once(response, 'drain', { signal });
  }

  /**
   * Writes all but the last byte of an answer that no buffer holds, so that it ends only when its
   * client has taken it. Returns what is left.
   */
  async function writeMost(frame: ExecuteResponse): Promise<ExecuteResponse> {
    const { head, body, usage } = frame;
    if (body.length <= response.writableHighWaterMark) return frame;
    if (usage !== undefined) call.usage?.onUsage(usage);
    if (!response.headersSent) beginWhole(head, body.length);
    if (!response.write(body.subarray(0, -1))) await once(response, 'drain', { signal });
    return { ...frame, body: body.subarray(-1) };
  }

  function begin(head: ResponseHead): void {
    writeHead(response, head.status, headersOf(head));
    onHead(head);
    // Messages streams have pings of their own.
    if (!isBetweenEvents() || dialect === 'messages') return;
    heartbeat = startInterval(() => {
      if (isBetweenEvents() && !response.writableNeedDrain) response.write(': keep-alive\n\n');
    }, config.heartbeatMs).unref();
  }

  /** Writes the last frame of a whole answer. An answer in one piece is sent with its length. */
  function end({ head, body }: ExecuteResponse): void {
    if (!response.headersSent) beginWhole(head, body.length);
    response.end(body);
  }

  function beginWhole(head: ResponseHead | undefined, length: number): void {
    writeHead(response, head?.status ?? 200, { 'content-length': length, ...headersOf(head) });
    if (head !== undefined) onHead(head);
  }

  /** Sends the head of an answer together with its first content. */
  function onHead(head: ResponseHead): void {
    sentHead = head;
    isEventStream = head.headers['content-type']?.startsWith('text/event-stream') ?? false;
    if (!isEventStream) return;
    call.onStreaming();
    events.streamBegan(call);
    activeSpan()?.addEvent('gen_ai.first_token');
  }

  function headersOf(head: ResponseHead | undefined): Readonly<Record<string, string>> {
    const { provider, model } = answer.lease;
    return { 'x-gateway-provider': headerSafe(provider), 'x-gateway-model': headerSafe(model), ...head?.headers };
  }

  /** True when an event may follow: in an event stream, and not inside an event. */
  function isBetweenEvents(): boolean {
    return isEventStream && (tail.length === 0 || eventEnd.test(tail.toString('latin1')));
  }
}

function brokenOff(cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', 'The answer ended before it was complete.', { cause });
}

/** A blank line. */
const eventEnd = /(?:\r\n\r\n|\n\n|\r\r)$/;
const eventEndBytes = 4;

/**
 * Removes characters that HTTP does not allow: header values come from the configuration and from
 * providers.
 */
function headerSafe(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, '');
}
