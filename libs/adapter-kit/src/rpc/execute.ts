import { GatewayError } from '@gateway/errors';
import { BufferList, scanInTurns } from '@gateway/json';
import { Dialect, type ExecuteHead } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { CallContext } from '@gateway/rpc';
import { epochMs } from '@gateway/time';
import type { AdapterContext } from '../adapter-context.ts';
import { type AttemptedRequest, attemptFrames } from '../attempt/attempt.ts';
import { estimateInputTokens } from '../attempt/estimate-tokens.ts';
import type { ExecuteFrame } from '../attempt/frame-writer.ts';
import type { ClientRequest, Translator } from '../format-definition.ts';

/**
 * The handler of AdapterService.Execute. Fails with `model_not_found` for a dialect that the format
 * does not speak, and with what the translator finds wrong with the request; failures of the
 * provider come as a result.
 */
export function execute(context: AdapterContext) {
  return (requests: AsyncIterable<RequestFrame>, { signal }: CallContext): AsyncGenerator<ExecuteFrame> =>
    attemptFrames(context, () => prepare(context, requests, signal), signal);
}

/**
 * A separate function, so that nothing keeps the client's body in memory while the answer streams.
 */
async function prepare(
  context: AdapterContext,
  frames: AsyncIterable<RequestFrame>,
  signal: AbortSignal,
): Promise<AttemptedRequest> {
  const { dialect, request, bodyValues } = await readClientRequest(frames, context);
  const translator = context.format.translators.get(dialect);
  if (translator === undefined) {
    throw new GatewayError('model_not_found', 'The model is not offered on this endpoint.');
  }
  const { requestId, lease, body } = request;
  const { passesErrorsOn = false } = translator;
  const isSmall = body.length < context.config.translationWorkerMinBytes && bodyValues < maxValuesHere;
  const translated = await translate(isSmall ? undefined : context.translations, request, translator, signal);
  return { requestId, lease, bodyBytes: body.length, passesErrorsOn, ...translated };
}

type Translated = Pick<AttemptedRequest, 'prepared' | 'estimatedTokens'>;

/** Translates in another thread if there are any. */
async function translate(
  threads: AdapterContext['translations'],
  request: ClientRequest,
  { prepare, toCall }: Translator,
  signal: AbortSignal,
): Promise<Translated> {
  const { body, lease, affinityKey } = request;
  if (threads === undefined || toCall === undefined) {
    return { prepared: prepare(request), estimatedTokens: await estimateInputTokens(body) };
  }
  const { model, defaultEffort, traits } = lease;
  const plain = { affinityKey, lease: { model, defaultEffort, traits } };
  const translated = await threads.translate(body.chunks, plain, signal);
  return { prepared: toCall(request, translated), estimatedTokens: translated.estimatedTokens };
}

/** A request with more values is translated in another thread, however small it is. */
const maxValuesHere = 5_000;

/** A frame of Execute or CountTokens. */
interface RequestFrame {
  readonly head?: ExecuteHead | undefined;
  readonly body: Uint8Array;
}

/**
 * Assembles a request from its frames. Throws `invalid_request` without a head, and
 * `body_too_large` above the maximum size.
 */
export async function readClientRequest(
  frames: AsyncIterable<RequestFrame>,
  { config }: AdapterContext,
): Promise<{ readonly dialect: Dialect; readonly request: ClientRequest; readonly bodyValues: number }> {
  const nowMs = epochMs();
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
    throw new GatewayError('invalid_request', 'The first frame must contain a head and a lease.');
  }
  const { dialect, requestId, lease, forwardHeaders, affinityKey, bodyValues } = head;
  const { maxAnswerBytes, maxEventBytes } = config;
  const bounds = { maxAnswerBytes, maxEventBytes };
  const body = new BufferList(pieces);
  const isParsedWhole = dialect === Dialect.CHAT_COMPLETIONS;
  const members = isParsedWhole || head.members.length > 0 ? head.members : (await scanInTurns(body.chunks)).members;
  const request = { requestId, lease, body, members, forwardHeaders, affinityKey, nowMs, ...bounds };
  return { dialect, request, bodyValues };
}

/** The largest body that any endpoint accepts. @see spec "Size limits" */
const maxBodyBytes = 64 * 1024 * 1024;
