import { type FormatDefinition, readModels, type Translator } from '@gateway/adapter-kit';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import type { ProviderModel } from '@gateway/proto/pool/v1/model_pb.js';
import { chatTranslator } from './chat-translator.ts';
import { mapUpstreamError } from './map-upstream-error.ts';
import { readWindows } from './read-quotas.ts';
import { relayTranslator } from './relay-translator.ts';

/** The Responses format. @see https://platform.openai.com/docs/api-reference/responses */
export const responsesFormat: FormatDefinition = {
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
 * The models in a list body that support conversations; the provider also lists its speech, image
 * and embedding models. Throws `providers_unavailable` for a body that is not a model list.
 * @see https://platform.openai.com/docs/api-reference/models/list
 */
export function readModelList(body: unknown): readonly ProviderModel[] {
  return readModels(body).filter(({ id }) => !otherModels.test(id));
}

const otherModels =
  /^(babbage|davinci|dall-e|gpt-image|chatgpt-image|omni-moderation|sora|text-|tts-|whisper)|-(audio|embedding|image|instruct|moderation|realtime|transcribe|translate|tts|whisper)\b/;
