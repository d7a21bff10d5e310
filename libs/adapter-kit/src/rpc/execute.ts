import { GatewayError } from '@gateway/errors';
import { PiecedBytes } from '@gateway/json';
import type { CallContext } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import type { ExecuteFrame } from '../attempt/answer-frames.ts';
import { type AttemptedRequest, attemptFrames } from '../attempt/attempt.ts';
import { estimateInputTokens } from '../attempt/usage.ts';
import type { TranslationSteps, Translator } from '../provider-format.ts';
import { type ReceivedRequest, type RequestFrame, readClientRequest, toClientRequest } from './client-request.ts';

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
  translator: Translator,
  signal: AbortSignal,
): Promise<Translated> {
  const { translationWorkers, translationWorkerMinBytes } = context.config;
  const { body } = received;
  const isLarge = translationWorkers > 0 && body.length >= translationWorkerMinBytes;
  if (isLarge && translator.steps !== undefined) {
    return await translateInWorker(context, received, translator.steps, signal);
  }
  const prepared = translator.prepare(toClientRequest(received, context));
  return { prepared, estimatedTokens: estimateInputTokens(body) };
}

async function translateInWorker(
  context: AdapterContext,
  received: ReceivedRequest,
  steps: TranslationSteps,
  signal: AbortSignal,
): Promise<Translated> {
  const { head, lease, body } = received;
  const { model, defaultEffort, traits } = lease;
  const translated = await context.translations.translate(body.pieces, {
    module: steps.worker,
    context: { affinityKey: head.affinityKey, lease: { model, defaultEffort, traits } },
    signal,
  });
  const request = toClientRequest({ ...received, body: new PiecedBytes([]) }, context);
  return { prepared: steps.toCall(request, translated), estimatedTokens: translated.estimatedTokens };
}
