import type { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';
import { Dialect, type JsonMember } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  type AttemptOutcome,
  AttemptResult,
  type Lease,
  type ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import { AttemptGivenUp } from '@gateway/proto/usage/v1/request_log_pb.js';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { type AnswerNames, relayAnswer } from '../answer/relay-answer.ts';
import type { AnswerFlow } from '../attempts/answer-flow.ts';
import { AnswerTooLongError } from '../attempts/answer-too-long-error.ts';
import {
  type AttemptPlan,
  type AttemptsEnd,
  type AttemptsFailed,
  attemptOf,
  attemptUntilAnswering,
} from '../attempts/attempt-loop.ts';
import { reportOf } from '../attempts/attempt-reporter.ts';
import { executeAttempt } from '../attempts/execute-attempt.ts';
import { UsageRecorder } from '../usage/usage-recorder.ts';
import type { AdmittedRequest, EndpointPeers } from './endpoint.ts';

/** A request for an answer of a model, in whatever dialect. */
export interface Generation {
  readonly body: JsonBody;
  readonly model: string;
  readonly dialect: Dialect;
  /** Formats that the endpoint can speak. */
  readonly formats: readonly ProviderFormat[];
  readonly affinityKey: string;
  readonly allowCandidateFailover: boolean;
  /** Not changed by anybody from now on. */
  readonly forwardHeaders: Record<string, string>;
  /** The keys by which later requests will refer to an answer. Absent: they can't. */
  readonly answerKeysOf?: ((answer: AnswerNames) => readonly string[]) | undefined;
  /** @see AttemptPlan.faultOf */
  readonly faultOf?: (() => GatewayError | undefined) | undefined;
  /** Tells the client of a request that no account answered: sends an answer, or throws. */
  readonly onFailed: (failed: AttemptsFailed) => Promise<void> | void;
}

/**
 * Runs a generation to its end: attempts, relay, books. The one road of all endpoints that ask a model. Whoever calls it should
 * return what it returns, so that a body is not kept in memory for as long as its answer streams.
 */
export function generate(request: AdmittedRequest, peers: EndpointPeers, generation: Generation): Promise<void> {
  const { body, model, affinityKey, answerKeysOf, onFailed } = generation;
  request.trace.onModel(model);
  const booking = new UsageRecorder(
    {
      requestId: request.requestId,
      principal: request.principal,
      admission: request.admission,
      endpoint: request.path,
      bodyBytes: body.source.length,
    },
    peers.recording,
  );
  const started = attemptUntilAnswering(planOf(request, peers, generation, booking), peers);
  return carry(started, request, peers, { affinityKey, answerKeysOf, onFailed, booking });
}

/** Nothing refers to it, and to the body in it, once an attempt is answering. */
function planOf(
  { requestId, principal, client, trace }: AdmittedRequest,
  peers: EndpointPeers,
  { body, model, dialect, formats, affinityKey, allowCandidateFailover, forwardHeaders, faultOf }: Generation,
  booking: UsageRecorder,
): AttemptPlan<AnswerFlow> {
  const attempt = async (lease: Lease) => {
    booking.onLease(lease);
    peers.renewals.keep(requestId, lease);
    const start = await executeAttempt({
      adapter: adapterOf(lease, peers),
      head: {
        $typeName: 'gateway.adapter.v1.ExecuteHead',
        requestId,
        lease,
        dialect,
        affinityKey,
        forwardHeaders,
        members: dialect === Dialect.CHAT_COMPLETIONS ? [] : passedOn(body),
      },
      body: body.source,
      client,
      observer: booking,
      timeoutMs: peers.config.maxStreamMs - trace.elapsedMs,
    });
    if (start.kind !== 'answering') booking.onAttemptFailed();
    return start;
  };
  const { caller } = principal;
  return { requestId, model, formats, affinityKey, caller, allowCandidateFailover, faultOf, client, attempt, trace };
}

type Carried = Pick<Generation, 'affinityKey' | 'answerKeysOf' | 'onFailed'> & { readonly booking: UsageRecorder };

/** Carries the answer to the client, or tells it that there is none, and keeps the books. */
async function carry(
  started: Promise<AttemptsEnd<AnswerFlow>>,
  { requestId, client, response, errorDialect, bodyRules, trace }: AdmittedRequest,
  { heartbeats, clock, reporter, renewals }: EndpointPeers,
  { affinityKey, answerKeysOf, onFailed, booking }: Carried,
): Promise<void> {
  try {
    const end = await started;
    if (end.kind === 'failed') {
      // An answer that was given up for its size was made all the same.
      const isUsed = end.last?.outcome.result === AttemptResult.ANSWER_TOO_LARGE;
      await (isUsed ? booking.end(Outcome.FAILED) : booking.discard());
      return await onFailed(end);
    }
    const { lease, value: flow } = end;
    // There is no further attempt that would need the body.
    bodyRules.allocation.release();
    await relayAnswer({
      lease,
      flow,
      response,
      booking,
      dialect: errorDialect,
      requestId,
      client,
      heartbeats,
      clock,
      onOutcome: ({ amended }) => trace.onAmended(amended),
      report: (outcome, names, cause) => {
        trace.onAttemptEnded(outcome, givenUpBy(outcome, client, cause));
        const answerKeys = names === undefined ? undefined : answerKeysOf?.(names);
        return reporter.report(reportOf(requestId, affinityKey, attemptOf(lease, outcome), answerKeys));
      },
    });
  } catch (thrown) {
    await bookUnanswered(thrown, booking, client);
    throw thrown;
  } finally {
    renewals.end(requestId);
    if (booking.booked !== undefined) trace.onBooked(booking.booked);
  }
}

/** Changes nothing when the relay has booked; else no answer was sent, and tokens are owed when it was not the provider who ended it. */
function bookUnanswered(thrown: unknown, booking: UsageRecorder, client: AdmittedRequest['client']): Promise<void> {
  if (client.hasLeft) return booking.end(Outcome.ABORTED);
  return thrown instanceof AnswerTooLongError ? booking.end(Outcome.FAILED) : booking.discard();
}

/** Only an answer that its provider did not end is cancelled: the client has gone, or the adapter has, or it took too long. */
function givenUpBy({ result }: AttemptOutcome, { hasLeft }: AdmittedRequest['client'], cause: unknown): AttemptGivenUp {
  if (result !== AttemptResult.CANCELLED) return AttemptGivenUp.UNSPECIFIED;
  if (cause instanceof AnswerTooLongError) return AttemptGivenUp.TOO_LONG;
  return hasLeft ? AttemptGivenUp.CLIENT_LEFT : AttemptGivenUp.ADAPTER_AWAY;
}

/**
 * Adapters that splice the body need not look for its members again; a chat request is parsed as a whole anyway. A body with very
 * many is left to them.
 */
function passedOn({ members }: JsonBody): JsonMember[] {
  if (members.length > maxMembers) return [];
  return members.map(({ keyStart, keyEnd, valueStart, valueEnd }) => ({
    $typeName: 'gateway.adapter.v1.JsonMember',
    keyStart,
    keyEnd,
    valueStart,
    valueEnd,
  }));
}

const maxMembers = 100;

/** The adapter of a lease's format. The broker leases only formats that it was asked for. */
export function adapterOf(lease: Lease, { adapters }: EndpointPeers) {
  const adapter = adapters.get(lease.format);
  if (adapter === undefined) throw new Error(`the broker leased format ${lease.format}, which was not asked for`);
  return adapter;
}
