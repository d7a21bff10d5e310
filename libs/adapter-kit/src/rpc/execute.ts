import { GatewayError } from '@gateway/errors';
import type { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import { Attempt } from '../attempt/attempt.ts';
import { AttemptFrames } from '../attempt/attempt-frames.ts';
import { type RequestFrame, readClientRequest } from './read-client-request.ts';

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
  const { head, request } = await readClientRequest(frames, context.clock);
  const translator = context.format.translators.get(head.dialect);
  if (translator === undefined) {
    throw new GatewayError('model_not_found', 'The model is not offered on this endpoint.');
  }
  const { passesErrorsOn = false } = translator;
  return new Attempt({ context, request, call: translator.prepare(request), passesErrorsOn, signal });
}
