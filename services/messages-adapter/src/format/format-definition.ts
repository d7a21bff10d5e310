import { type FormatDefinition, readModels, type Translator } from '@gateway/adapter-kit';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import type { ProviderModel } from '@gateway/proto/pool/v1/model_pb.js';
import { chatTranslator } from './chat-translator.ts';
import { mapUpstreamError } from './map-upstream-error.ts';
import { readWindows } from './read-quotas.ts';
import { relayTranslator, tokenCounter } from './relay-translator.ts';

/** The Messages format. @see https://platform.claude.com/docs/en/api/messages */
export const messagesFormat: FormatDefinition = {
  id: ProviderFormatId.MESSAGES,
  translationWorker: new URL('./chat-translation-worker.ts', import.meta.url),
  translators: new Map<Dialect, Translator>([
    [Dialect.CHAT_COMPLETIONS, chatTranslator],
    [Dialect.MESSAGES, relayTranslator],
  ]),
  // The version of requests built here, which every model accepts: later versions refuse what older
  // models need.
  headers: { 'anthropic-version': '2023-06-01' },
  modelListPath: '/models?limit=1000',
  readModelList,
  mapUpstreamError,
  readWindows,
  countTokens: tokenCounter,
};

/** @see https://platform.claude.com/docs/en/api/models-list */
export function readModelList(body: unknown): readonly ProviderModel[] {
  return readModels(body, ({ display_name }) => display_name);
}
