import type { ServerResponse } from 'node:http';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import type { ExecuteOutcome, ResponseHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type AttemptOutcome, AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Clock } from '@gateway/time';
import type { AnswerFlow } from '../attempts/answer-flow.ts';
import { AnswerTooLongError } from '../attempts/answer-too-long-error.ts';
import { attemptOutcome, cancelledOutcome } from '../attempts/attempt-start.ts';
import type { ErrorDialect } from '../errors/error-dialect.ts';
import { renderStreamError } from '../errors/render-error.ts';
import type { ClientPresence } from '../http/client-presence.ts';
import type { UsageRecorder } from '../usage/usage-recorder.ts';
import { AnswerPassage } from './answer-passage.ts';
import type { Heartbeats } from './heartbeats.ts';

export interface Relay {
  readonly lease: Lease;
  readonly flow: AnswerFlow;
  readonly response: ServerResponse;
  readonly booking: Pick<UsageRecorder, 'onUsage' | 'end'>;
  readonly dialect: ErrorDialect;
  readonly requestId: string;
  readonly client: Pick<ClientPresence, 'hasLeft'>;
  readonly heartbeats: Heartbeats;
  readonly clock: Clock;
  /** Tells the broker how the attempt ended, by what later requests may name a whole answer, and what broke off another. Never throws. */
  readonly report: (outcome: AttemptOutcome, names?: AnswerNames, cause?: unknown) => Promise<void>;
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

/**
 * Carries an answer that has begun to the client. The request is booked before the last byte goes out, so that whoever
 * has read the end finds it counted. An answer that breaks off ends with one error event and nothing after it.
 */
export async function relayAnswer(relay: Relay): Promise<void> {
  const passage = new AnswerPassage(relay);
  try {
    // Small answers are there as a whole.
    const { frame, outcome } = passage.end ?? (await passage.whenEnded());
    relay.onOutcome?.(outcome);
    const attempt = outcome.attempt ?? succeededOutcome;
    const hasSucceeded = attempt.result === AttemptResult.SUCCEEDED;
    // A provider's own word of its failure is the end of the answer.
    const isWhole = hasSucceeded || outcome.answerComplete;
    if (!isWhole) passage.pass(frame);
    const ending = hasSucceeded ? Outcome.COMPLETED : Outcome.FAILED;
    const booked = relay.booking.end(ending, isWhole ? frame.usage : undefined);
    const reported = relay.report(attempt, hasSucceeded ? namesOf(outcome, frame.head ?? passage.head) : undefined);
    await booked;
    await reported;
    if (isWhole) passage.complete(frame);
    else endWithError(outcome.error === undefined ? brokenOff() : fromErrorDetail(outcome.error), passage, relay);
  } catch (thrown) {
    await breakOff(thrown, passage, relay);
  } finally {
    passage[Symbol.dispose]();
    relay.flow.cancel();
  }
}

function namesOf({ sealedReasoning }: ExecuteOutcome, head: ResponseHead | undefined): AnswerNames {
  return { answerId: head?.answerId ?? '', sealedReasoning };
}

/** The client has gone, or the adapter has, or the answer took too long: none is the account's fault. */
async function breakOff(thrown: unknown, passage: AnswerPassage, relay: Relay): Promise<void> {
  const clientHasGone = relay.client.hasLeft;
  const booked = relay.booking.end(clientHasGone ? Outcome.ABORTED : Outcome.FAILED);
  const reported = relay.report(cancelledOutcome, undefined, thrown);
  await booked;
  await reported;
  if (clientHasGone) return;
  endWithError(thrown instanceof AnswerTooLongError ? thrown : brokenOff(thrown), passage, relay);
}

function endWithError(error: GatewayError, passage: AnswerPassage, relay: Relay): void {
  const { dialect, requestId, clock } = relay;
  const stream = { requestId, nowMs: clock.nowMs(), seen: passage.seenResponse };
  if (passage.isEventStream && passage.isBetweenEvents) passage.endWith(renderStreamError(error, dialect, stream));
  // Half a JSON object or half an event can't be mended: the client must see that it is incomplete.
  else relay.response.destroy();
}

function brokenOff(cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', 'The answer broke off.', { cause });
}

const succeededOutcome = attemptOutcome(AttemptResult.SUCCEEDED);
