import { GatewayError } from '@gateway/errors';
import type { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import { Attempt, type AttemptedCall } from '../attempt/attempt.ts';
import { AttemptFrames } from '../attempt/attempt-frames.ts';
import { estimateInputTokens } from '../attempt/estimate-tokens.ts';
import type { PreparedCall, TranslationSteps, Translator } from '../provider-format.ts';
import { type ReceivedRequest, type RequestFrame, readClientRequest, toClientRequest } from './read-client-request.ts';

/**
 * The handler of AdapterService.Execute. Throws `model_not_found` for a dialect that the format does not speak, and
 * what the translator finds wrong with the request; failures of the provider are told as an outcome.
 */
export function execute(context: AdapterContext): Handlers<typeof AdapterService>['execute'] {
  return (frames, { signal }) => new AttemptFrames(() => beginAttempt(context, frames, signal));
}

async function beginAttempt(
  context: AdapterContext,
  frames: AsyncIterable<RequestFrame>,
  signal: AbortSignal,
): Promise<Attempt> {
  const received = await readClientRequest(frames, context.clock);
  const translator = context.format.translators.get(received.head.dialect);
  if (translator === undefined) {
    throw new GatewayError('model_not_found', 'The model is not offered on this endpoint.');
  }
  const { passesErrorsOn = false, steps } = translator;
  const call =
    steps !== undefined && isLarge(context, received)
      ? await callMadeInWorker(context, received, steps, signal)
      : await callMadeHere(received, translator);
  return new Attempt({ context, call, passesErrorsOn, signal });
}

function isLarge({ config }: AdapterContext, { body }: ReceivedRequest): boolean {
  return config.translationWorkers > 0 && body.size >= config.translationWorkerMinBytes;
}

async function callMadeHere(received: ReceivedRequest, translator: Translator): Promise<AttemptedCall> {
  const whole = received.body.whole();
  const request = toClientRequest(received, whole instanceof Promise ? await whole : whole);
  return attemptedCall(received, translator.prepare(request), estimateInputTokens(request.body));
}

async function callMadeInWorker(
  { translations }: AdapterContext,
  received: ReceivedRequest,
  { worker, toCall }: TranslationSteps,
  signal: AbortSignal,
): Promise<AttemptedCall> {
  const { head, lease, body } = received;
  const { model, defaultEffort, traits } = lease;
  const context = { affinityKey: head.affinityKey, lease: { model, defaultEffort, traits } };
  const translated = await translations.translate(body.pieces, { module: worker, context, signal });
  const call = toCall(toClientRequest(received, nothing), translated);
  return attemptedCall(received, call, translated.estimatedTokens);
}

const nothing = new Uint8Array();

function attemptedCall(
  { head, lease, body }: ReceivedRequest,
  prepared: PreparedCall,
  estimatedTokens: number,
): AttemptedCall {
  return { requestId: head.requestId, lease, bodyBytes: body.size, estimatedTokens, prepared };
}
