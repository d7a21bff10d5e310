import { GatewayError } from '@gateway/errors';
import { PiecedBytes } from '@gateway/json';
import type { ExecuteHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { type Clock, YieldBudget } from '@gateway/time';
import type { AdapterConfig } from '../adapter-config.ts';
import type { ClientRequest } from '../provider-format.ts';

/** A frame of Execute or CountTokens. */
export interface RequestFrame {
  readonly head?: ExecuteHead | undefined;
  readonly body: Uint8Array;
}

export interface ReceivedRequest {
  readonly head: ExecuteHead;
  readonly lease: Lease;
  readonly body: PiecedBytes;
  /** Epoch milliseconds at which it came. */
  readonly nowMs: number;
}

/** A request whose frames are all there. Throws as `readClientRequest`. */
export function gatherClientRequest(frames: readonly RequestFrame[], clock: Clock): ReceivedRequest {
  const gathered = new GatheredRequest(clock.nowMs());
  for (const frame of frames) gathered.add(frame);
  return gathered.received();
}

/** Gathers a request from its frames. Throws `invalid_request` without a head, `body_too_large` over the largest body taken. */
export async function readClientRequest(frames: AsyncIterable<RequestFrame>, clock: Clock): Promise<ReceivedRequest> {
  const gathered = new GatheredRequest(clock.nowMs());
  const turns = new YieldBudget();
  for await (const frame of frames) {
    gathered.add(frame);
    // While this waits, the caller does too, once it has filled the window: what it sends to others goes first.
    const turn = turns.spend(frame.body.length);
    if (turn !== undefined) await turn;
  }
  return gathered.received();
}

class GatheredRequest {
  readonly #nowMs: number;
  readonly #pieces: Uint8Array[] = [];
  #head: ExecuteHead | undefined;
  #size = 0;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  add({ head, body }: RequestFrame): void {
    this.#head ??= head;
    if (body.length === 0) return;
    this.#size += body.length;
    if (this.#size > maxBodyBytes) throw new GatewayError('body_too_large', 'The body is too large.');
    this.#pieces.push(body);
  }

  received(): ReceivedRequest {
    const head = this.#head;
    if (head?.lease === undefined) {
      throw new GatewayError('invalid_request', 'The first frame must hold a head and a lease.');
    }
    return { head, lease: head.lease, body: new PiecedBytes(this.#pieces), nowMs: this.#nowMs };
  }
}

/** The request as translators take it. */
export function toClientRequest(
  { head, lease, body, nowMs }: ReceivedRequest,
  { maxAnswerBytes }: Pick<AdapterConfig, 'maxAnswerBytes'>,
): ClientRequest {
  const { requestId, members, forwardHeaders, affinityKey } = head;
  return { requestId, lease, body, members, forwardHeaders, affinityKey, nowMs, maxAnswerBytes };
}

/** The largest body that any endpoint takes. @see spec "Size limits" */
const maxBodyBytes = 64 * 1024 * 1024;
