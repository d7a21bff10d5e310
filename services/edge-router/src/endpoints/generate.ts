import type { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';
import { Dialect, type JsonMember } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptGivenUp } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import {
  type AttemptOutcome,
  AttemptResult,
  type Lease,
  type ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { type AnswerNames, relayAnswer } from '../answer/relay-answer.ts';
import type { AnswerFlow } from '../attempts/answer-flow.ts';
import {
  type AttemptPlan,
  type AttemptsEnd,
  type AttemptsFailed,
  attemptOf,
  attemptUntilAnswering,
} from '../attempts/attempt-loop.ts';
import { reportOf } from '../attempts/attempt-reporter.ts';
import { executeAttempt } from '../attempts/execute-attempt.ts';
import { UsageBooking } from '../usage/usage-booking.ts';
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
  const booking = new UsageBooking(
    {
      requestId: request.requestId,
      principal: request.principal,
      admission: request.admission,
      endpoint: request.path,
      bodyBytes: body.source.length,
    },
    peers.booking,
  );
  const started = attemptUntilAnswering(planOf(request, peers, generation, booking), peers);
  return carry(started, request, peers, { affinityKey, answerKeysOf, onFailed, booking });
}

/** Nothing refers to it, and to the body in it, once an attempt is answering. */
function planOf(
  { requestId, principal, client, trace }: AdmittedRequest,
  peers: EndpointPeers,
  { body, model, dialect, formats, affinityKey, allowCandidateFailover, forwardHeaders, faultOf }: Generation,
  booking: UsageBooking,
): AttemptPlan<AnswerFlow> {
  const attempt = (lease: Lease) => {
    booking.onLease(lease);
    return executeAttempt({
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
      onUsage: booking.onUsage,
    });
  };
  const { caller } = principal;
  return { requestId, model, formats, affinityKey, caller, allowCandidateFailover, faultOf, client, attempt, trace };
}

type Carried = Pick<Generation, 'affinityKey' | 'answerKeysOf' | 'onFailed'> & { readonly booking: UsageBooking };

/** Carries the answer to the client, or tells it that there is none, and keeps the books. */
async function carry(
  started: Promise<AttemptsEnd<AnswerFlow>>,
  { requestId, client, response, errorDialect, bodyRules, trace }: AdmittedRequest,
  { heartbeats, clock, reporter }: EndpointPeers,
  { affinityKey, answerKeysOf, onFailed, booking }: Carried,
): Promise<void> {
  try {
    const end = await started;
    if (end.kind === 'failed') {
      await booking.discard();
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
      report: (outcome, names) => {
        trace.onAttemptEnded(outcome, givenUpBy(outcome, client));
        const answerKeys = names === undefined ? undefined : answerKeysOf?.(names);
        return reporter.report(reportOf(requestId, affinityKey, attemptOf(lease, outcome), answerKeys));
      },
    });
  } catch (thrown) {
    // Changes nothing when the relay has booked; else no answer was sent, and only a client that left can owe tokens.
    await (client.hasLeft ? booking.end(Outcome.ABORTED) : booking.discard());
    throw thrown;
  } finally {
    if (booking.booked !== undefined) trace.onBooked(booking.booked);
  }
}

/** Only an answer that nobody ended is cancelled: the client has gone, or the adapter has. */
function givenUpBy({ result }: AttemptOutcome, { hasLeft }: AdmittedRequest['client']): AttemptGivenUp {
  if (result !== AttemptResult.CANCELLED) return AttemptGivenUp.UNSPECIFIED;
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
