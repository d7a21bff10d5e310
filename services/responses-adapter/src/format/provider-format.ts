import { create } from '@bufbuild/protobuf';
import type { ProviderFormat, Translator } from '@gateway/adapter-kit';
import { GatewayError } from '@gateway/errors';
import { asObject, asString } from '@gateway/json';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import { type ProviderModel, ProviderModelSchema } from '@gateway/proto/pool/v1/model_pb.js';
import { chatTranslator } from './chat-translator.ts';
import { mapUpstreamError } from './map-upstream-error.ts';
import { readWindows } from './read-limits.ts';
import { relayTranslator } from './relay-translator.ts';

/** The Responses format. @see https://platform.openai.com/docs/api-reference/responses */
export const responsesFormat: ProviderFormat = {
  id: ProviderFormatId.RESPONSES,
  translationWorker: new URL('./chat-translation-worker.ts', import.meta.url),
  translators: new Map<Dialect, Translator>([
    [Dialect.CHAT_COMPLETIONS, chatTranslator],
    [Dialect.RESPONSES, relayTranslator],
  ]),
  headers: {},
  modelListPath: '/models',
  readModelList,
  mapUpstreamError,
  readWindows,
};

/**
 * The models of a list body that can hold a conversation; the provider lists its speech, image and embedding models
 * among them. Throws `providers_unavailable` for a body that is no model list.
 * @see https://platform.openai.com/docs/api-reference/models/list
 */
export function readModelList(body: unknown): readonly ProviderModel[] {
  const list = asObject(body)?.data;
  if (!Array.isArray(list)) throw new GatewayError('providers_unavailable', 'The provider sent no model list.');
  const ids = list.map((model) => asString(asObject(model)?.id)).filter((id) => id !== undefined);
  return [...new Set(ids)]
    .filter((id) => id !== '' && !otherModels.test(id))
    .map((id) => create(ProviderModelSchema, { id, displayName: '' }));
}

const otherModels =
  /^(babbage|davinci|dall-e|gpt-image|chatgpt-image|omni-moderation|sora|text-|tts-|whisper)|-(audio|embedding|image|instruct|moderation|realtime|transcribe|translate|tts|whisper)\b/;
