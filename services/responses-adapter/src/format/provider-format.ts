import type { ProviderFormat } from '@gateway/adapter-kit';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import { chatTranslator } from './chat-translator.ts';
import { mapUpstreamError } from './map-upstream-error.ts';
import { readWindows } from './read-limits.ts';
import { readModelList } from './read-model-list.ts';
import { relayTranslator } from './relay-translator.ts';

/** The Responses format. @see https://platform.openai.com/docs/api-reference/responses */
export const responsesFormat: ProviderFormat = {
  id: ProviderFormatId.RESPONSES,
  translationWorker: new URL('./chat-translation-worker.ts', import.meta.url),
  translators: new Map([
    [Dialect.CHAT_COMPLETIONS, chatTranslator],
    [Dialect.RESPONSES, relayTranslator],
  ]),
  headers: {},
  modelListPath: '/models',
  readModelList,
  mapUpstreamError,
  readWindows,
};
