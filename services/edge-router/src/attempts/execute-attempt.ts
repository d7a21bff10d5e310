import type { BufferList } from '@gateway/json';
import type { AdapterService, ExecuteHead, ExecuteRequest } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { atHand, type Client } from '@gateway/rpc';
import type { ClientPresence } from '../http/client-presence.ts';
import { AnswerFlow, type UsageObserver } from './answer-flow.ts';
import type { AttemptStart } from './attempt-start.ts';

export interface AttemptRequest {
  readonly adapter: Client<typeof AdapterService>;
  readonly head: ExecuteHead;
  readonly body: BufferList;
  readonly client: ClientPresence;
  readonly observer: UsageObserver;
  /** The whole answer must end within this time. */
  readonly timeoutMs: number;
}

/** Sends a request to one account and waits for its first content. Rejects only with what is final for the request. */
export function executeAttempt(request: AttemptRequest): Promise<AttemptStart<AnswerFlow>> {
  // The deadline is the adapter's too, and stands whatever becomes of this process.
  const timeoutMs = Math.max(1, Math.ceil(request.timeoutMs));
  const answers = request.adapter.execute(requestFrames(request), { timeoutMs });
  return new AnswerFlow(request.client, request.observer).begin(answers);
}

/** A request in the frames that adapters take: mostly one. */
export function requestFrames({ head, body }: Pick<AttemptRequest, 'head' | 'body'>): AsyncIterable<RequestFrame> {
  if (body.length > frameBytes) return split(head, body);
  const only: ExecuteRequest = { $typeName: 'gateway.adapter.v1.ExecuteRequest', head, body: body.whole() };
  return atHand([only]);
}

type RequestFrame = Partial<Pick<ExecuteRequest, 'head' | 'body'>>;

async function* split(head: ExecuteHead, { chunks }: BufferList): AsyncGenerator<RequestFrame> {
  yield { head, body: new Uint8Array() };
  for (const piece of chunks) {
    for (let at = 0; at < piece.length; at += frameBytes) yield { body: piece.subarray(at, at + frameBytes) };
  }
}

const frameBytes = 256 * 1024;
