import type { ChatAnswerOptions } from '@gateway/chat';
import type { GatewayErrorCode } from '@gateway/errors';
import type { ClientRequest } from '../provider-format.ts';

/** What a translation is made from, besides the body. Plain data: it may go to another thread. */
export type TranslationContext = Pick<ClientRequest, 'affinityKey'> & {
  readonly lease: Pick<ClientRequest['lease'], 'model' | 'defaultEffort' | 'traits'>;
};

/** A chat request as a provider takes it. Plain data. */
export interface TranslatedChat<Body = string> {
  readonly body: Body;
  readonly answer: ChatAnswerPlan;
}

/** What the client wants of its answer. */
export interface ChatAnswerPlan extends Pick<ChatAnswerOptions, 'stream' | 'includeUsage'> {
  readonly wantsJson: boolean;
}

/** The same as a worker gives it. */
export interface TranslatedInWorker extends TranslatedChat<Uint8Array<ArrayBuffer>> {
  /** See `estimateInputTokens`. */
  readonly estimatedTokens: number;
}

/** Throws `invalid_request`, `invalid_json` or `unsupported_content`. */
export type TranslateChat = (body: Uint8Array, context: TranslationContext) => TranslatedChat;

/** What a worker is asked. */
export interface TranslationTask {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly context: TranslationContext;
}

/** What a worker answers, also when the request is at fault. */
export type TranslationReply = TranslatedInWorker | { readonly refusedFor: GatewayErrorCode; readonly message: string };
