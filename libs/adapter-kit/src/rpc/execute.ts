import { GatewayError } from '@gateway/errors';
import { BufferList } from '@gateway/json';
import { type AnswerListener, type Answers, allAtHand, type CallContext, type ToldCall } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import type { ExecuteFrame } from '../attempt/answer-frames.ts';
import { Attempt } from '../attempt/attempt.ts';
import { AttemptToBegin, beganToFail } from '../attempt/attempt-to-begin.ts';
import type { AttemptedCall } from '../attempt/attempted-call.ts';
import { estimateInputTokens } from '../attempt/estimate-tokens.ts';
import { ReadAnswers } from '../attempt/read-answers.ts';
import type { PreparedCall, Translator } from '../provider-format.ts';
import {
  gatherClientRequest,
  type ReceivedRequest,
  type RequestFrame,
  readClientRequest,
  toClientRequest,
} from './read-client-request.ts';

/**
 * The handler of AdapterService.Execute. Fails with `model_not_found` for a dialect that the format does not speak, and
 * with what the translator finds wrong with the request; failures of the provider are told as an outcome.
 */
export function execute(
  context: AdapterContext,
): (frames: AsyncIterable<RequestFrame>, call: CallContext) => Answers<ExecuteFrame> {
  return (frames, call) => new Execution(context, frames, call);
}

class Execution implements Answers<ExecuteFrame> {
  readonly #context: AdapterContext;
  readonly #frames: AsyncIterable<RequestFrame>;
  readonly #call: CallContext;

  constructor(context: AdapterContext, frames: AsyncIterable<RequestFrame>, call: CallContext) {
    this.#context = context;
    this.#frames = frames;
    this.#call = call;
  }

  /** A small request that is all there is sent before this returns. */
  tellTo(listener: AnswerListener<ExecuteFrame>): ToldCall {
    const frames = allAtHand(this.#frames);
    if (frames === undefined || !areSmall(frames)) return this.#tellLater(listener);
    try {
      const received = gatherClientRequest(frames, this.#context.clock);
      if (isLarge(this.#context, received)) return this.#tellLater(listener);
      const attempt = new Attempt(this.#context, callMadeHere(this.#context, received), listener);
      attempt.begin();
      return attempt;
    } catch (thrown) {
      return beganToFail(listener, thrown);
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<ExecuteFrame> {
    return new ReadAnswers({
      answers: this,
      bytesOf: ({ body }) => body.length,
      signal: () => this.#call.signal,
    });
  }

  #tellLater(listener: AnswerListener<ExecuteFrame>): ToldCall {
    const attempt = new AttemptToBegin(this.#context, listener);
    void attempt.begin((signal) => callMadeLater(this.#context, this.#frames, signal));
    return attempt;
  }
}

/** As small as what is handled in one turn of the event loop. */
function areSmall(frames: readonly RequestFrame[]): boolean {
  let size = 0;
  for (const { body } of frames) size += body.length;
  return size <= maxSmallBytes;
}

const maxSmallBytes = 256 * 1024;

async function callMadeLater(
  context: AdapterContext,
  frames: AsyncIterable<RequestFrame>,
  signal: AbortSignal,
): Promise<AttemptedCall> {
  const received = await readClientRequest(frames, context.clock);
  return isLarge(context, received)
    ? await callMadeInWorker(context, received, signal)
    : callMadeHere(context, received);
}

/** Whether the request is so large, and its translation so much work, that it is left to another thread. */
function isLarge({ config, format }: AdapterContext, { head, body }: ReceivedRequest): boolean {
  if (config.translationWorkers === 0 || body.length < config.translationWorkerMinBytes) return false;
  return format.translators.get(head.dialect)?.steps !== undefined;
}

function callMadeHere(context: AdapterContext, received: ReceivedRequest): AttemptedCall {
  const translator = translatorOf(context, received);
  const prepared = translator.prepare(toClientRequest(received, context.config));
  return attemptedCall(received, translator, prepared, estimateInputTokens(received.body));
}

async function callMadeInWorker(
  context: AdapterContext,
  received: ReceivedRequest,
  signal: AbortSignal,
): Promise<AttemptedCall> {
  const { head, lease, body } = received;
  const translator = translatorOf(context, received);
  const { steps } = translator;
  if (steps === undefined) return callMadeHere(context, received);
  const { model, defaultEffort, traits } = lease;
  const translated = await context.translations.translate(body.chunks, {
    module: steps.worker,
    context: { affinityKey: head.affinityKey, lease: { model, defaultEffort, traits } },
    signal,
  });
  const prepared = steps.toCall(toClientRequest({ ...received, body: nothing }, context.config), translated);
  return attemptedCall(received, translator, prepared, translated.estimatedTokens);
}

/** What has been translated is not kept for as long as the answer. */
const nothing = new BufferList([]);

function translatorOf({ format }: AdapterContext, { head }: ReceivedRequest): Translator {
  const translator = format.translators.get(head.dialect);
  if (translator === undefined) {
    throw new GatewayError('model_not_found', 'The model is not offered on this endpoint.');
  }
  return translator;
}

function attemptedCall(
  { head, lease, body }: ReceivedRequest,
  { passesErrorsOn = false }: Translator,
  prepared: PreparedCall,
  estimatedTokens: number,
): AttemptedCall {
  return { requestId: head.requestId, lease, bodyBytes: body.length, estimatedTokens, prepared, passesErrorsOn };
}
