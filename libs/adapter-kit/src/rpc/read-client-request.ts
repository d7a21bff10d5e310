import { GatewayError } from '@gateway/errors';
import type { ExecuteHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Clock } from '@gateway/time';
import type { ClientRequest } from '../provider-format.ts';

/** A frame of Execute or CountTokens. */
export interface RequestFrame {
  readonly head?: ExecuteHead | undefined;
  readonly body: Uint8Array;
}

export interface ReceivedRequest {
  readonly head: ExecuteHead;
  readonly request: ClientRequest;
}

/** Gathers a request from its frames. Throws `invalid_request` without a head, `body_too_large` over the largest body taken. */
export async function readClientRequest(frames: AsyncIterable<RequestFrame>, clock: Clock): Promise<ReceivedRequest> {
  const nowMs = clock.nowMs();
  let head: ExecuteHead | undefined;
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const frame of frames) {
    head ??= frame.head;
    if (frame.body.length === 0) continue;
    size += frame.body.length;
    if (size > maxBodyBytes) throw new GatewayError('body_too_large', 'The body is too large.');
    pieces.push(frame.body);
  }
  if (head?.lease === undefined)
    throw new GatewayError('invalid_request', 'The first frame must hold a head and a lease.');
  const { requestId, lease, members, forwardHeaders, affinityKey } = head;
  return { head, request: { requestId, lease, body: joined(pieces), members, forwardHeaders, affinityKey, nowMs } };
}

/** The largest body that any endpoint takes. @see spec "Size limits" */
const maxBodyBytes = 64 * 1024 * 1024;

/** The pieces as one. In process they are views that follow each other in one buffer: then nothing is copied. */
function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces;
  if (first === undefined) return new Uint8Array();
  let end = first.byteOffset;
  for (const piece of pieces) {
    if (piece.buffer !== first.buffer || piece.byteOffset !== end) return Buffer.concat(pieces);
    end += piece.length;
  }
  return new Uint8Array(first.buffer, first.byteOffset, end - first.byteOffset);
}
