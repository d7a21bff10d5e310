import { create } from '@bufbuild/protobuf';
import type { GatewayError } from '@gateway/errors';
import type { JsonBody } from '@gateway/json';
import type { Dialect, JsonMember } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptGivenUp } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import {
  type Attempt,
  AttemptOutcomeSchema,
  AttemptResult,
  type Lease,
  type ProviderFormat,
} from '@gateway/proto/pool/v1/account_pb.js';
import type { ReportRequest } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { Outcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { type AnswerNames, relayAnswer } from '../answer/relay-answer.ts';
import { type AttemptsEnd, type AttemptsFailed, attemptUntilAnswering } from '../attempts/attempt-loop.ts';
import { type AnswerFrames, executeAttempt } from '../attempts/execute-attempt.ts';
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
  readonly forwardHeaders: Readonly<Record<string, string>>;
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
      bodyBytes: body.bytes.length,
    },
    peers.booking,
  );
  const started = start(request, peers, { ...generation, booking });
  return carry(started, request, peers, { affinityKey, answerKeysOf, onFailed, booking });
}

/** Attempts, until one is answering. Nothing of the body is referred to when it has resolved. */
function start(
  { requestId, principal, signal, trace }: AdmittedRequest,
  peers: EndpointPeers,
  { booking, ...generation }: Generation & { readonly booking: UsageBooking },
): Promise<AttemptsEnd<AnswerFrames>> {
  const { body, model, dialect, formats, affinityKey, allowCandidateFailover } = generation;
  const forwardHeaders = { ...generation.forwardHeaders };
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
        members: passedOn(body),
      },
      body: body.bytes,
      signal,
      onUsage: booking.onUsage,
    });
  };
  const { caller } = principal;
  const plan = {
    requestId,
    model,
    formats,
    affinityKey,
    caller,
    allowCandidateFailover,
    faultOf: generation.faultOf,
    signal,
    attempt,
    trace,
  };
  return attemptUntilAnswering(plan, {
    broker: peers.broker,
    reporter: peers.reporter,
    rpcTimeoutMs: peers.config.rpcTimeoutMs,
  });
}

type Carried = Pick<Generation, 'affinityKey' | 'answerKeysOf' | 'onFailed'> & { readonly booking: UsageBooking };

/** Carries the answer to the client, or tells it that there is none, and keeps the books. */
async function carry(
  started: Promise<AttemptsEnd<AnswerFrames>>,
  { requestId, signal, response, errorDialect, bodyRules, trace }: AdmittedRequest,
  peers: EndpointPeers,
  { affinityKey, answerKeysOf, onFailed, booking }: Carried,
): Promise<void> {
  try {
    const end = await started;
    if (end.kind === 'failed') {
      await booking.discard();
      return await onFailed(end);
    }
    const { lease, value: frames } = end;
    // There is no further attempt that would need the body.
    bodyRules.hold?.[Symbol.dispose]();
    await relayAnswer({
      answering: { lease, frames },
      response,
      booking,
      dialect: errorDialect,
      requestId,
      signal,
      heartbeats: peers.heartbeats,
      clock: peers.clock,
      onOutcome: ({ amended }) => trace.onAmended(amended),
      report: (outcome, names) => {
        trace.onAttemptEnded(outcome, givenUpBy(outcome, signal));
        const answerKeys = names === undefined ? [] : [...(answerKeysOf?.(names) ?? [])];
        const attempt: Attempt = {
          $typeName: 'gateway.pool.v1.Attempt',
          lease,
          outcome: create(AttemptOutcomeSchema, outcome),
        };
        const report: ReportRequest = {
          $typeName: 'gateway.pool.v1.ReportRequest',
          requestId,
          affinityKey,
          answerKeys,
          attempt,
        };
        return peers.reporter.report(report);
      },
    });
  } finally {
    // Changes nothing when the relay has booked; else no answer was sent, and only a client that left can owe tokens.
    await (signal.aborted ? booking.end(Outcome.ABORTED) : booking.discard());
    if (booking.booked !== undefined) trace.onBooked(booking.booked);
  }
}

/** Only an answer that nobody ended is cancelled: the client has gone, or the adapter has. */
function givenUpBy({ result }: { readonly result: AttemptResult }, { aborted }: AbortSignal): AttemptGivenUp {
  if (result !== AttemptResult.CANCELLED) return AttemptGivenUp.UNSPECIFIED;
  return aborted ? AttemptGivenUp.CLIENT_LEFT : AttemptGivenUp.ADAPTER_AWAY;
}

/** Adapters that splice the body need not look for its members again. A body with very many is left to them. */
function passedOn({ memberList }: JsonBody): JsonMember[] {
  if (memberList.length > maxMembers) return [];
  return memberList.map(({ keyStart, keyEnd, valueStart, valueEnd }) => ({
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
