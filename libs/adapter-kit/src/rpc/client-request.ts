import { GatewayError } from '@gateway/errors';
import { BufferList } from '@gateway/json';
import type { ExecuteHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { AdapterContext } from '../adapter-context.ts';
import type { ClientRequest } from '../provider-format.ts';

/** A frame of Execute or CountTokens. */
export interface RequestFrame {
  readonly head?: ExecuteHead | undefined;
  readonly body: Uint8Array;
}

export interface ReceivedRequest {
  readonly head: ExecuteHead;
  readonly lease: Lease;
  readonly body: BufferList;
  /** Epoch milliseconds at which it came. */
  readonly nowMs: number;
}

/** Gathers a request from its frames. Throws `invalid_request` without a head, `body_too_large` over the largest body taken. */
export async function readClientRequest(
  frames: AsyncIterable<RequestFrame>,
  { clock }: AdapterContext,
): Promise<ReceivedRequest> {
  const nowMs = clock.nowMs();
  const pieces: Uint8Array[] = [];
  let head: ExecuteHead | undefined;
  let size = 0;
  for await (const frame of frames) {
    head ??= frame.head;
    size += frame.body.length;
    if (size > maxBodyBytes) throw new GatewayError('body_too_large', 'The body is too large.');
    if (frame.body.length > 0) pieces.push(frame.body);
  }
  if (head?.lease === undefined) {
    throw new GatewayError('invalid_request', 'The first frame must hold a head and a lease.');
  }
  return { head, lease: head.lease, body: new BufferList(pieces), nowMs };
}

/** The largest body that any endpoint takes. @see spec "Size limits" */
const maxBodyBytes = 64 * 1024 * 1024;

/** The request as translators take it. */
export function toClientRequest({ head, ...received }: ReceivedRequest, { config }: AdapterContext): ClientRequest {
  const { requestId, members, forwardHeaders, affinityKey } = head;
  const { maxAnswerBytes } = config;
  return { requestId, members, forwardHeaders, affinityKey, maxAnswerBytes, ...received };
}
