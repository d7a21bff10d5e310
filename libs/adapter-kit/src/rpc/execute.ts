import { GatewayError } from '@gateway/errors';
import { BufferList } from '@gateway/json';
import type { ExecuteHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { CallContext } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-service.ts';
import { type ExecuteFrame, estimateInputTokens } from '../attempt/answer-frames.ts';
import { type AttemptedRequest, attemptFrames } from '../attempt/attempt.ts';
import type { ClientRequest, Translator } from '../provider-format.ts';

/**
 * The handler of AdapterService.Execute. Fails with `model_not_found` for a dialect that the format does not speak, and
 * with what the translator finds wrong with the request; failures of the provider come as an outcome.
 */
export function execute(context: AdapterContext) {
  return (requests: AsyncIterable<RequestFrame>, { signal }: CallContext): AsyncGenerator<ExecuteFrame> =>
    attemptFrames(context, () => prepare(context, requests, signal), signal);
}

/** Of the client's body nothing is kept here for as long as the answer takes. */
async function prepare(
  context: AdapterContext,
  requests: AsyncIterable<RequestFrame>,
  signal: AbortSignal,
): Promise<AttemptedRequest> {
  const received = await readClientRequest(requests, context);
  const { head, lease, body } = received;
  const translator = context.format.translators.get(head.dialect);
  if (translator === undefined) {
    throw new GatewayError('model_not_found', 'The model is not offered on this endpoint.');
  }
  const { passesErrorsOn = false } = translator;
  const translated = await translate(context, received, translator, signal);
  return { requestId: head.requestId, lease, bodyBytes: body.length, passesErrorsOn, ...translated };
}

type Translated = Pick<AttemptedRequest, 'prepared' | 'estimatedTokens'>;

/** A request that is much work to translate is done in another thread. */
async function translate(
  context: AdapterContext,
  received: ReceivedRequest,
  { prepare, toCall }: Translator,
  signal: AbortSignal,
): Promise<Translated> {
  const { translations, config } = context;
  const { head, lease, body } = received;
  if (translations === undefined || toCall === undefined || body.length < config.translationWorkerMinBytes) {
    const prepared = prepare(toClientRequest(received, context));
    return { prepared, estimatedTokens: estimateInputTokens(body) };
  }
  const { model, defaultEffort, traits } = lease;
  const plain = { affinityKey: head.affinityKey, lease: { model, defaultEffort, traits } };
  const translated = await translations.translate(body.chunks, plain, signal);
  const request = toClientRequest({ ...received, body: new BufferList([]) }, context);
  return { prepared: toCall(request, translated), estimatedTokens: translated.estimatedTokens };
}

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
