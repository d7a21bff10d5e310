import type { ServerResponse } from 'node:http';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import type { ExecuteOutcome, ExecuteResponse, ResponseHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Clock } from '@gateway/time';
import type { AnswerFrames } from '../attempts/execute-attempt.ts';
import type { ErrorDialect } from '../errors/error-dialect.ts';
import { renderStreamError } from '../errors/render-error.ts';
import { writeHead } from '../http/answer-head.ts';
import type { UsageBooking } from '../usage/usage-booking.ts';
import type { Heartbeat, Heartbeats } from './heartbeats.ts';
import { write } from './response-writer.ts';

export interface Relay {
  readonly answering: { readonly lease: Lease; readonly frames: AnswerFrames };
  readonly response: ServerResponse;
  readonly booking: Pick<UsageBooking, 'onUsage' | 'end'>;
  readonly dialect: ErrorDialect;
  readonly requestId: string;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  readonly heartbeats: Heartbeats;
  readonly clock: Clock;
  /** Tells the broker how the attempt ended, and by what later requests may name a whole answer. Never throws. */
  readonly report: (outcome: AttemptOutcomeInit, names?: AnswerNames) => Promise<void>;
  /** Is told how the provider's answer ended, when it did not just break off. */
  readonly onOutcome?: (outcome: ExecuteOutcome) => void;
}

/** By what later requests may refer to an answer. Empty: not by this. */
export interface AnswerNames {
  /** The provider's id of the answer. */
  readonly answerId: string;
  /** Digest of the last sealed reasoning in it. */
  readonly sealedReasoning: string;
}

type AttemptOutcomeInit = NonNullable<ExecuteOutcome['attempt']> | { readonly result: AttemptResult };

/**
 * Carries an answer that has begun to the client. The request is booked before the last byte goes out, so that whoever
 * has read the end finds it counted. An answer that breaks off ends with one error event and nothing after it.
 */
export async function relayAnswer(relay: Relay): Promise<void> {
  const { answering, response } = relay;
  let heartbeat: Heartbeat | undefined;
  let head: ResponseHead | undefined;
  try {
    while (true) {
      const frame = await answering.frames.next();
      if (frame.head !== undefined) {
        head = frame.head;
        begin(head, frame, relay);
      }
      if (frame.outcome !== undefined) return await finish(frame, frame.outcome, relay, head);
      if (frame.usage !== undefined) relay.booking.onUsage(frame.usage);
      if (frame.head !== undefined && isEventStream(head) && relay.dialect !== 'messages') {
        heartbeat = relay.heartbeats.of(response);
      }
      heartbeat?.sent();
      const slowClient = write(response, frame.body);
      if (slowClient !== undefined) await slowClient;
    }
  } catch (thrown) {
    await breakOff(thrown, relay, head);
  } finally {
    heartbeat?.[Symbol.dispose]();
    await answering.frames[Symbol.asyncDispose]();
  }
}

function begin({ status, headers }: ResponseHead, frame: ExecuteResponse, { response, answering }: Relay): void {
  const { provider, model } = answering.lease;
  const own = { 'x-gateway-provider': headerSafe(provider), 'x-gateway-model': headerSafe(model), ...headers };
  // An answer that is here in one piece need not be sent in chunks.
  writeHead(response, status, isWhole(frame) ? { 'content-length': frame.body.length, ...own } : own);
}

function isWhole({ outcome }: ExecuteResponse): boolean {
  return outcome !== undefined && resultOf(outcome) === AttemptResult.SUCCEEDED;
}

function resultOf({ attempt }: ExecuteOutcome): AttemptResult {
  return attempt?.result ?? AttemptResult.SUCCEEDED;
}

async function finish(
  frame: ExecuteResponse,
  outcome: ExecuteOutcome,
  relay: Relay,
  head: ResponseHead | undefined,
): Promise<void> {
  relay.onOutcome?.(outcome);
  const attempt = outcome.attempt ?? { result: AttemptResult.SUCCEEDED };
  if (attempt.result === AttemptResult.SUCCEEDED) {
    await Promise.all([
      relay.booking.end(Outcome.COMPLETED, frame.usage),
      relay.report(attempt, { answerId: head?.answerId ?? '', sealedReasoning: outcome.sealedReasoning }),
    ]);
    relay.response.end(frame.body);
    return;
  }
  if (frame.usage !== undefined) relay.booking.onUsage(frame.usage);
  await write(relay.response, frame.body);
  await Promise.all([relay.booking.end(Outcome.FAILED), relay.report(attempt)]);
  endWithError(outcome.error === undefined ? brokenOff() : fromErrorDetail(outcome.error), relay, head);
}

/** The client has gone, or the adapter has: neither is the account's fault. */
async function breakOff(thrown: unknown, relay: Relay, head: ResponseHead | undefined): Promise<void> {
  const clientHasGone = relay.signal.aborted;
  await Promise.all([
    relay.booking.end(clientHasGone ? Outcome.ABORTED : Outcome.FAILED),
    relay.report({ result: AttemptResult.CANCELLED }),
  ]);
  if (!clientHasGone) endWithError(brokenOff(thrown), relay, head);
}

function endWithError(
  error: GatewayError,
  { response, dialect, requestId, clock }: Relay,
  head: ResponseHead | undefined,
): void {
  if (isEventStream(head)) response.end(renderStreamError(error, dialect, requestId, clock.nowMs()));
  // Half a JSON object can't be mended: the client must see that it is incomplete.
  else response.destroy();
}

function brokenOff(cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', 'The answer broke off.', { cause });
}

function isEventStream(head: ResponseHead | undefined): boolean {
  return head?.headers['content-type']?.startsWith('text/event-stream') ?? false;
}

/** Header values come from configuration and providers; what HTTP does not allow in them is left out. */
function headerSafe(value: string): string {
  return unsafe.test(value) ? value.replace(/[^\x20-\x7e]/g, '') : value;
}

const unsafe = /[^\x20-\x7e]/;
