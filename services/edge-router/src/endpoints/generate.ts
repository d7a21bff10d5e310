import { create } from '@bufbuild/protobuf';
import type { BufferList, JsonBody } from '@gateway/json';
import { Dialect, type ExecuteHead, ExecuteHeadSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { holdsLeases, pricedDayOf } from '../admission/admit.ts';
import { reserveCost } from '../admission/reservation.ts';
import { type AttemptPlan, type AttemptsFailed, type AttemptsResult, runAttempts } from '../attempts/attempt-loop.ts';
import type { Call } from '../call.ts';
import { relayAnswer } from '../relay/relay-answer.ts';
import type { EndpointPeers } from '../request-context.ts';
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
  readonly onFailed?: ((failed: AttemptsFailed, call: Call) => Promise<void>) | undefined;
}

/**
 * Runs a generation to its end: attempts, relay, settle. All endpoints that use a model share this
 * function. It does not keep the body: callers return its result directly, so that no body is in
 * memory while its answer streams.
 */
export function generate(call: Call, peers: EndpointPeers, generation: Generation): Promise<void> {
  const { body, dialect, answerKeysOf, forwardHeaders, onFailed, ...plan } = generation;
  const { affinityKey } = plan;
  // Adapters that splice the body need not scan for its members again; a chat request is parsed as
  // a whole anyway.
  const members = dialect === Dialect.CHAT_COMPLETIONS ? [] : [...body.members];
  const bodyValues = body.tokens;
  const execute = (lease: Lease, signal: AbortSignal) => {
    const named = { requestId: call.id, lease, dialect, affinityKey, forwardHeaders };
    const head = create(ExecuteHeadSchema, { ...named, members, bodyValues });
    // The adapter has the same deadline, which applies even if this process dies.
    const timeoutMs = Math.max(1, Math.ceil(peers.config.maxStreamMs - call.elapsedMs));
    return adapterOf(lease, peers).execute(requestFrames(head, body.source), { signal, timeoutMs });
  };
  const attempts = { ...plan, call, execute, pricedOnDay: pricedDayOf(call, peers.pricing) };
  const run = () => deliver(runAttempts(attempts, peers), call, peers, { affinityKey, answerKeysOf, onFailed });
  const { model } = plan;
  const reserving = holdsLeases(call.token) ? reserveCost(call, { body, dialect, model }, peers) : undefined;
  return reserving === undefined ? run() : reserving.then(run);
}

/** Relays the answer to the client, or reports that there is none. */
async function deliver(
  attempts: Promise<AttemptsResult>,
  call: Call,
  peers: EndpointPeers,
  { onFailed, ...affinity }: Affinity & Pick<Generation, 'onFailed'>,
): Promise<void> {
  const answer = await attempts;
  if (answer.kind === 'failed') {
    if (onFailed === undefined) throw answer.error;
    return onFailed(answer, call);
  }
  // No further attempt needs the body.
  call.releaseBody();
  await relayAnswer({ ...affinity, call, answer }, peers);
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
