import { type ChatAnswer, type ChatRequest, createChatAnswer, parseChatRequest } from '@gateway/chat';
import type { GatewayErrorCode } from '@gateway/errors';
import { toWellFormedJson } from '@gateway/json';
import type { AnswerReader, ClientRequest, TranslatedChat, Translator } from '../format-definition.ts';

/**
 * Translates chat completions to one provider format. No header of the client is forwarded, because
 * none belongs to the provider's dialect.
 */
interface ChatFormat {
  readonly path: string;
  /** Undefined members are not sent. Throws `invalid_request` or `unsupported_content`. */
  toProviderRequest(request: ChatRequest, context: TranslationContext): object;
  readAnswer(answer: ChatAnswer, options: ChatReaderOptions): AnswerReader;
}

export interface ChatReaderOptions extends Pick<ClientRequest, 'nowMs' | 'maxAnswerBytes' | 'maxEventBytes'> {
  /** True when the client requested a JSON answer. */
  readonly wantsJson: boolean;
}

/**
 * Creates the translator of chat completions. `translate` is the work on the whole body, which may
 * run in another thread.
 */
export function chatTranslatorOf({ path, toProviderRequest, readAnswer }: ChatFormat) {
  const translate: TranslateChat = (body, context) => {
    const request = parseChatRequest(body);
    const { stream, includeUsage, responseFormat } = request;
    return {
      body: toWellFormedJson(toProviderRequest(request, context)),
      answer: { stream, includeUsage, wantsJson: responseFormat.type !== 'text' },
    };
  };
  const toCall: NonNullable<Translator['toCall']> = (request, translated) => {
    const { requestId: id, lease, nowMs, maxAnswerBytes, maxEventBytes } = request;
    const { wantsJson, ...wanted } = translated.answer;
    const created = Math.floor(nowMs / 1_000);
    const answer = createChatAnswer({ id, created, model: lease.model, ...wanted, maxBytes: maxAnswerBytes });
    const reader = readAnswer(answer, { wantsJson, nowMs, maxAnswerBytes, maxEventBytes });
    return { path, headers: {}, body: translated.body, answer: reader };
  };
  const prepare = (request: ClientRequest) => toCall(request, translate(request.body.whole(), request));
  return { prepare, toCall, translate };
}

/**
 * The inputs of a translation besides the body. Plain data, because it may be sent to another
 * thread.
 */
export type TranslationContext = Pick<ClientRequest, 'affinityKey'> & {
  readonly lease: Pick<ClientRequest['lease'], 'model' | 'defaultEffort' | 'traits'>;
};

/** The same in the form that a worker returns. */
export interface TranslatedInWorker extends TranslatedChat<Uint8Array<ArrayBuffer>> {
  /** See `estimateInputTokens`. */
  readonly estimatedTokens: number;
}

/** Throws `invalid_request`, `invalid_json` or `unsupported_content`. */
export type TranslateChat = (body: Uint8Array, context: TranslationContext) => TranslatedChat;

/** A request to a worker. */
export interface TranslationTask {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly context: TranslationContext;
}

/** A worker's answer, also when the request is invalid. */
export type TranslationReply = TranslatedInWorker | { readonly refusedFor: GatewayErrorCode; readonly message: string };
