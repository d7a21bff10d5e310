import type { BufferList } from '@gateway/json';
import type { ExecuteHead, ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { AnswerTooLongError } from './attempt-errors.ts';

/** The frames of one attempt, as its reader takes them. The one with an outcome is the last. Throws when none comes. */
export type AnswerFrames = AsyncGenerator<ExecuteResponse, undefined>;

/** A call of an adapter, which aborting ends. It begins with its first frame. */
export interface AdapterCall {
  readonly frames: AsyncIterable<ExecuteResponse>;
  readonly abort: () => void;
  /** It is recorded whether the request was sent. */
  readonly isRecorded: boolean;
}

/**
 * Reads a call of an adapter. It ends when its reader returns, and when `client` aborts: at once, but for one case. Before it is
 * known that the request was sent, the adapter has a little time to say so: what the provider was asked must be recorded, and what
 * it was not must not.
 */
export async function* answerFrames(call: AdapterCall, client: AbortSignal): AnswerFrames {
  client.throwIfAborted();
  let isSent = !call.isRecorded;
  let patience: NodeJS.Timeout | undefined;
  const onLeave = () => {
    if (isSent) call.abort();
    else patience = setTimeout(call.abort, adapterAnswersWithinMs);
  };
  client.addEventListener('abort', onLeave, { once: true });
  try {
    for await (const frame of call.frames) {
      isSent = true;
      if (client.aborted) call.abort();
      yield frame;
      if (frame.outcome !== undefined) return;
    }
    throw new RpcError('internal', 'The adapter ended its answer without an outcome.');
  } catch (thrown) {
    // The call's own deadline is how long an answer may last.
    const isTooLong = thrown instanceof RpcError && thrown.status === 'deadline_exceeded';
    throw isTooLong ? new AnswerTooLongError(thrown) : thrown;
  } finally {
    clearTimeout(patience);
    client.removeEventListener('abort', onLeave);
  }
}

/** Its word is under way for much less, on a machine that is not overloaded. */
const adapterAnswersWithinMs = 500;

/** A request in the frames that adapters take: mostly one. */
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

/** A call refers to its requests for as long as its answer lasts: a body must not stay in memory for that. */
async function* released<T>(frames: T[]): AsyncGenerator<T> {
  for (let frame = frames.shift(); frame !== undefined; frame = frames.shift()) yield frame;
}
