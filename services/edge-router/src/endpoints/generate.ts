import type { ServerResponse } from 'node:http';
import { create } from '@bufbuild/protobuf';
import type { BufferList, JsonBody } from '@gateway/json';
import { Dialect, type ExecuteHead, ExecuteHeadSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { LedgerOutcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { pricedDayOf, reserveCost } from '../admission/reservation.ts';
import { AnswerTooLongError } from '../attempts/attempt-errors.ts';
import { type AttemptPlan, type AttemptsFailed, type AttemptsResult, runAttempts } from '../attempts/attempt-loop.ts';
import { callerKey } from '../authentication/authenticate.ts';
import { relayAnswer } from '../relay/relay-answer.ts';
import type { AdmittedRequest, EndpointPeers } from '../request-context.ts';
import { UsageRecorder } from '../usage/usage-recorder.ts';
import type { Affinity } from './affinity.ts';

/** A request for a model's answer, in any dialect. */
export interface Generation extends Affinity, Pick<AttemptPlan, 'model' | 'formats' | 'features' | 'faultOf'> {
  readonly body: JsonBody;
  readonly dialect: Dialect;
  readonly forwardHeaders: Record<string, string>;
  /**
   * Answers a request that no account answered, or throws. Absent: the gateway's own error is the
   * answer. It must not refer to the body, because it is kept while the answer streams.
   */
  readonly onFailed?: ((failed: AttemptsFailed, response: ServerResponse) => void) | undefined;
}

/**
 * Runs a generation to its end: attempts, relay, settle. All endpoints that use a model share this
 * function. It does not keep the body: callers return its result directly, so that no body is in
 * memory while its answer streams.
 */
export function generate(request: AdmittedRequest, peers: EndpointPeers, generation: Generation): Promise<void> {
  const { requestId, token, admission, route, signal, logEntry, patience } = request;
  const { body, model, dialect, affinityKey, answerKeysOf, forwardHeaders, onFailed, ...plan } = generation;
  const recorded = { requestId, token, admission, endpoint: route.path, bodyBytes: body.source.length };
  const recorder = new UsageRecorder(recorded, peers);
  // Adapters that splice the body need not scan for its members again; a chat request is parsed as
  // a whole anyway.
  const members = dialect === Dialect.CHAT_COMPLETIONS ? [] : [...body.members];
  const bodyValues = body.tokens;
  const execute = (lease: Lease, callSignal: AbortSignal) => {
    const named = { requestId, lease, dialect, affinityKey, forwardHeaders };
    const head = create(ExecuteHeadSchema, { ...named, members, bodyValues });
    // The adapter has the same deadline, which applies even if this process dies.
    const timeoutMs = Math.max(1, Math.ceil(peers.config.maxStreamMs - logEntry.elapsedMs));
    return adapterOf(lease, peers).execute(requestFrames(head, body.source), { signal: callSignal, timeoutMs });
  };
  const caller = callerKey(token.tokenId);
  const pricedOnDay = pricedDayOf(request, peers.pricing);
  const asked = { requestId, token, model, affinityKey, caller, signal, logEntry, patience, pricedOnDay };
  const attempts = { ...plan, ...asked, execute, recorder };
  const run = () =>
    deliver(runAttempts(attempts, peers), request, peers, { affinityKey, answerKeysOf, onFailed, recorder });
  const reserving =
    token.group?.limits?.budget === undefined ? undefined : reserveCost(request, { body, dialect, model }, peers);
  return reserving === undefined ? run() : reserving.then(run);
}

/** Relays the answer to the client, or reports that there is none, and settles. */
async function deliver(
  attempts: Promise<AttemptsResult>,
  { requestId, signal, response, route, bodyRules, logEntry }: AdmittedRequest,
  peers: EndpointPeers,
  { onFailed, recorder, ...affinity }: Affinity & Pick<Generation, 'onFailed'> & { readonly recorder: UsageRecorder },
): Promise<void> {
  try {
    const answer = await attempts;
    if (answer.kind === 'failed') {
      await recorder.discard();
      if (onFailed === undefined) throw answer.error;
      return onFailed(answer, response);
    }
    // No further attempt needs the body.
    bodyRules.allocation[Symbol.dispose]();
    const dialect = route.errorDialect;
    const relay = { ...affinity, requestId, response, signal, logEntry, dialect, answer, recorder };
    await relayAnswer(relay, peers);
  } catch (thrown) {
    // If the relay has settled, this does nothing. Otherwise the client has no answer; tokens are
    // recorded for an attempt that was still running.
    if (signal.aborted) await recorder.end(LedgerOutcome.ABORTED);
    else await (thrown instanceof AnswerTooLongError ? recorder.end(LedgerOutcome.FAILED) : recorder.discard());
    throw thrown;
  } finally {
    peers.leases.stopRenewing(requestId);
    if (recorder.recorded !== undefined) logEntry.onRecorded(recorder.recorded);
  }
}

/** The adapter for a lease's format. The broker leases only the requested formats. */
export function adapterOf(lease: Lease, { adapters }: EndpointPeers) {
  const adapter = adapters.get(lease.format);
  if (adapter === undefined)
    throw new Error(`the broker leased format ${lease.format}, which the request does not allow`);
  return adapter;
}

/** Splits a request into the frames that adapters accept: usually one. */
export function requestFrames(head: ExecuteHead, body: BufferList): AsyncIterable<RequestFrame> {
  const [first = nothing, ...others] = body.length > frameBytes ? body.chunks.flatMap(inFrames) : [body.whole()];
  return released<RequestFrame>([{ head, body: first }, ...others.map((piece) => ({ body: piece }))]);
}

interface RequestFrame {
  readonly head?: ExecuteHead;
  readonly body: Uint8Array;
}

const nothing = new Uint8Array();
const frameBytes = 256 * 1024;

function inFrames(piece: Buffer): readonly Buffer[] {
  const count = Math.ceil(piece.length / frameBytes);
  return Array.from({ length: count }, (_, n) => piece.subarray(n * frameBytes, (n + 1) * frameBytes));
}

/**
 * A call refers to its requests for as long as its answer lasts, but the body must not stay in
 * memory for that time.
 */
function released<T>(frames: T[]): AsyncIterable<T> {
  const next = async (): Promise<IteratorResult<T, undefined>> => {
    const value = frames.shift();
    return value === undefined ? { done: true, value: undefined } : { done: false, value };
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}
