import { create } from '@bufbuild/protobuf';
import type { ProviderFormat, Translator } from '@gateway/adapter-kit';
import { GatewayError } from '@gateway/errors';
import { asObject, asString, type JsonObject } from '@gateway/json';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import { type ProviderModel, ProviderModelSchema } from '@gateway/proto/pool/v1/model_pb.js';
import { chatTranslator } from './chat-translator.ts';
import { mapUpstreamError } from './map-upstream-error.ts';
import { readWindows } from './read-limits.ts';
import { relayTranslator, tokenCounter } from './relay-translator.ts';

/** The Messages format. @see https://platform.claude.com/docs/en/api/messages */
export const messagesFormat: ProviderFormat = {
  id: ProviderFormatId.MESSAGES,
  translationWorker: new URL('./chat-translation-worker.ts', import.meta.url),
  translators: new Map<Dialect, Translator>([
    [Dialect.CHAT_COMPLETIONS, chatTranslator],
    [Dialect.MESSAGES, relayTranslator],
  ]),
  // The version of requests made here, which every model takes: later ones refuse what older models need.
  headers: { 'anthropic-version': '2023-06-01' },
  modelListPath: '/models?limit=1000',
  readModelList,
  mapUpstreamError,
  readWindows,
  countTokens: tokenCounter,
};

/**
 * The models of a list body, each once. Throws `providers_unavailable` for a body that is no model list.
 * @see https://platform.claude.com/docs/en/api/models-list
 */
export function readModelList(body: unknown): readonly ProviderModel[] {
  const list = asObject(body)?.data;
  if (!Array.isArray(list)) throw new GatewayError('providers_unavailable', 'The provider sent no model list.');
  const models = new Map(list.map((entry) => asObject(entry) ?? {}).map((model) => [asString(model.id) ?? '', model]));
  models.delete('');
  return [...models].map(([id, model]) => create(ProviderModelSchema, { id, displayName: displayNameOf(model) }));
}

function displayNameOf(model: JsonObject): string {
  return asString(model.display_name) ?? '';
}
