import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import {
  type AdapterService,
  ExecuteHeadSchema,
  type ExecuteOutcome,
  type ExecuteRequest,
  type ExecuteResponse,
  type Usage,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import type { AttemptStart, FailedAttempt } from './attempt-start.ts';

/** The frames of an answer from its head on. Close it, whatever happens: that cancels the provider's request. */
export interface AnswerFrames extends AsyncDisposable {
  /** The next frame; the one with an outcome is the last. Throws RpcError when the adapter breaks off. */
  next(): Promise<ExecuteResponse>;
}

export interface AttemptRequest {
  readonly adapter: Client<typeof AdapterService>;
  readonly head: MessageInitShape<typeof ExecuteHeadSchema>;
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
  /** Told of usage that comes before the answer has begun: the provider is working on it. */
  readonly onUsage: (usage: Usage) => void;
}

const frameBytes = 256 * 1024;

/** Sends a request to one account and waits for its first content. Throws only what is final for the request. */
export async function executeAttempt(request: AttemptRequest): Promise<AttemptStart<AnswerFrames>> {
  const { signal } = request;
  const frames = request.adapter.execute(requestFrames(request), { signal })[Symbol.asyncIterator]();
  // Nobody waits for a frame when it is called, so that the adapter's side ends at once.
  const close = async () => void (await frames.return?.(undefined));
  let answering = false;
  try {
    const first = await firstDecisiveFrame(frames, request.onUsage);
    if (first.head === undefined) return failedAttempt(first.outcome);
    answering = true;
    return { kind: 'answering', value: answerFrames(first, frames, close) };
  } catch (thrown) {
    if (isAdapterAway(thrown, request.signal)) return adapterAway(thrown);
    throw thrown;
  } finally {
    if (!answering) await close();
  }
}

/** Skips frames that only report usage, to the one that decides: a head, or an outcome without one. */
async function firstDecisiveFrame(
  frames: AsyncIterator<ExecuteResponse>,
  onUsage: (usage: Usage) => void,
): Promise<ExecuteResponse> {
  while (true) {
    const value = frameOf(await frames.next());
    if (value.head !== undefined || value.outcome !== undefined) return value;
    if (value.usage !== undefined) onUsage(value.usage);
  }
}

function answerFrames(
  first: ExecuteResponse,
  rest: AsyncIterator<ExecuteResponse>,
  close: () => Promise<void>,
): AnswerFrames {
  let pending: ExecuteResponse | undefined = first;
  return {
    next() {
      if (pending === undefined) return rest.next().then(frameOf);
      const frame = Promise.resolve(pending);
      pending = undefined;
      return frame;
    },
    [Symbol.asyncDispose]: close,
  };
}

function frameOf({ done, value }: IteratorResult<ExecuteResponse, unknown>): ExecuteResponse {
  if (done) throw new RpcError('internal', 'The adapter ended its answer without an outcome.');
  return value;
}

/** The failure that an adapter told. */
export function failedAttempt(outcome: ExecuteOutcome | undefined): FailedAttempt {
  return {
    kind: 'failed',
    outcome: outcome?.attempt ?? { result: AttemptResult.SERVER_ERROR },
    error: outcome?.error === undefined ? unavailable('The provider failed.') : fromErrorDetail(outcome.error),
    upstreamAnswer: outcome?.upstreamAnswer,
    amended: outcome?.amended ?? '',
  };
}

/** True when a call never reached its adapter, or lost it, and nobody asked for that. */
export function isAdapterAway(thrown: unknown, signal: AbortSignal): thrown is RpcError {
  return thrown instanceof RpcError && !signal.aborted;
}

export function adapterAway(cause: RpcError): AttemptStart<never> {
  const isGone = cause.status === 'unavailable';
  return { kind: 'adapter_away', isGone, error: unavailable('The provider could not be reached.', cause) };
}

/** A request in the frames that adapters take: mostly one. */
export function requestFrames({ head, body }: Pick<AttemptRequest, 'head' | 'body'>): AsyncIterable<RequestFrame> {
  if (body.length > frameBytes) return split(head, body);
  return single({ $typeName: 'gateway.adapter.v1.ExecuteRequest', head: create(ExecuteHeadSchema, head), body });
}

/** As a generator that yields one value, without its cost. */
function single<T>(value: T): AsyncIterableIterator<T> {
  let given = false;
  return {
    next() {
      if (given) return Promise.resolve({ done: true, value: undefined });
      given = true;
      return Promise.resolve({ done: false, value });
    },
    return() {
      given = true;
      return Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* split(head: RequestHead, body: Uint8Array): AsyncGenerator<RequestFrame> {
  yield { head, body: body.subarray(0, frameBytes) };
  for (let at = frameBytes; at < body.length; at += frameBytes) yield { body: body.subarray(at, at + frameBytes) };
}

type RequestHead = MessageInitShape<typeof ExecuteHeadSchema>;
type RequestFrame = Partial<Pick<ExecuteRequest, 'body'>> & { head?: RequestHead };

function unavailable(message: string, cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', message, { cause });
}
