import type { MessageInitShape } from '@bufbuild/protobuf';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import type {
  AdapterService,
  ExecuteHeadSchema,
  ExecuteRequest,
  ExecuteResponse,
  Usage,
} from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type AttemptOutcome, type AttemptOutcomeSchema, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type Client, RpcError } from '@gateway/rpc';

/** How the first phase of an attempt ended: with an answer that has begun, or with a failure that leaves all open. */
export type AttemptStart =
  | { readonly kind: 'answering'; readonly frames: AnswerFrames }
  | {
      readonly kind: 'failed';
      readonly outcome: MessageInitShape<typeof AttemptOutcomeSchema>;
      readonly error: GatewayError;
    }
  /** The adapter itself could not be reached: no other account of its format can help. */
  | { readonly kind: 'adapter_away'; readonly error: GatewayError };

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
export async function executeAttempt(request: AttemptRequest): Promise<AttemptStart> {
  const cancel = new AbortController();
  const signal = AbortSignal.any([request.signal, cancel.signal]);
  const frames = request.adapter.execute(bodyFrames(request), { signal })[Symbol.asyncIterator]();
  const close = async () => {
    cancel.abort();
    await frames.return?.(undefined);
  };
  let answering = false;
  try {
    const first = await firstDecisiveFrame(frames, request.onUsage);
    if (first.head === undefined) return failedStart(first.outcome?.attempt, first);
    answering = true;
    return { kind: 'answering', frames: answerFrames(first, frames, close) };
  } catch (thrown) {
    if (thrown instanceof RpcError && !request.signal.aborted) {
      return { kind: 'adapter_away', error: unavailable('The provider could not be reached.', thrown) };
    }
    throw thrown;
  } finally {
    if (!answering) await close();
  }
}

async function* bodyFrames({ head, body }: AttemptRequest): AsyncGenerator<MessageInitShapeOfFrame> {
  yield { head, body: body.subarray(0, frameBytes) };
  for (let at = frameBytes; at < body.length; at += frameBytes) yield { body: body.subarray(at, at + frameBytes) };
}

type MessageInitShapeOfFrame = Partial<Pick<ExecuteRequest, 'body'>> & {
  head?: MessageInitShape<typeof ExecuteHeadSchema>;
};

/** Skips frames that only report usage, to the one that decides: a head, or an outcome without one. */
async function firstDecisiveFrame(
  frames: AsyncIterator<ExecuteResponse>,
  onUsage: (usage: Usage) => void,
): Promise<ExecuteResponse> {
  while (true) {
    const { done, value } = await frames.next();
    if (done) throw new RpcError('internal', 'The adapter ended its answer without an outcome.');
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
    async next() {
      if (pending !== undefined) {
        const frame = pending;
        pending = undefined;
        return frame;
      }
      const { done, value } = await rest.next();
      if (done) throw new RpcError('internal', 'The adapter ended its answer without an outcome.');
      return value;
    },
    [Symbol.asyncDispose]: close,
  };
}

function failedStart(attempt: AttemptOutcome | undefined, { outcome }: ExecuteResponse): AttemptStart {
  return {
    kind: 'failed',
    outcome: attempt ?? { result: AttemptResult.SERVER_ERROR },
    error: outcome?.error === undefined ? unavailable('The provider failed.') : fromErrorDetail(outcome.error),
  };
}

function unavailable(message: string, cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', message, { cause });
}
