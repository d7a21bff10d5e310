import { hash } from 'node:crypto';
import type { ClientRequest, PreparedCall, TranslatedChat, TranslationContext, Translator } from '@gateway/adapter-kit';
import { type ChatRequest, createChatAnswer, parseChatRequest } from '@gateway/chat';
import { toWellFormedJson } from '@gateway/json';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { convertMessages } from './convert-messages.ts';
import { convertResponseFormat, mentionJson } from './convert-response-format.ts';
import { convertTools } from './convert-tools.ts';
import { EventReader } from './event-reader.ts';
import { mapReasoningEffort, readDefaultEffort } from './map-reasoning-effort.ts';
import type { ResponsesRequest } from './provider-request.ts';

/** Chat completions spoken to a Responses provider. No header of the client goes along: none is of this dialect. */
export const chatTranslator: Translator = {
  prepare: (request: ClientRequest) => toCall(request, translateChat(request.body.whole(), request)),
  toCall,
};

/** A chat request as a Responses provider takes it. Throws what is wrong with it. */
export function translateChat(body: Uint8Array, context: TranslationContext): TranslatedChat {
  const request = parseChatRequest(body);
  const { stream, includeUsage, responseFormat } = request;
  return {
    body: toWellFormedJson(toProviderRequest(request, context)),
    answer: { stream, includeUsage, wantsJson: responseFormat.type !== 'text' },
  };
}

function toCall(...[request, translated]: Parameters<NonNullable<Translator['toCall']>>): PreparedCall {
  const { requestId, lease, nowMs, maxAnswerBytes } = request;
  const { stream, includeUsage, wantsJson } = translated.answer;
  const created = Math.floor(nowMs / 1_000);
  const identity = { id: requestId, created, model: lease.model };
  const answer = createChatAnswer({ ...identity, stream, includeUsage, maxBytes: maxAnswerBytes });
  const reader = new EventReader(answer, { wantsJson, nowMs, maxAnswerBytes });
  return { path: '/responses', headers: {}, body: translated.body, answer: reader };
}

export interface RequestContext {
  readonly lease: Pick<Lease, 'model' | 'defaultEffort' | 'traits'>;
  /** Empty when the request belongs to no group. */
  readonly affinityKey: string;
}

/** The Responses request for a chat request. Members that are undefined are not sent. @see spec "POST /v1/chat/completions" */
export function toProviderRequest(request: ChatRequest, { lease, affinityKey }: RequestContext): ResponsesRequest {
  const conversation = mentionJson(convertMessages(request.messages), request.responseFormat);
  const wanted = request.reasoningEffort ?? readDefaultEffort(lease.defaultEffort);
  const effort = mapReasoningEffort(wanted, lease.model, lease.traits);
  return {
    model: lease.model,
    stream: true,
    store: false,
    instructions: conversation.instructions,
    input: conversation.input,
    ...convertTools(request),
    text: convertResponseFormat(request.responseFormat),
    reasoning: effort === undefined ? undefined : { effort },
    prompt_cache_key: toPromptCacheKey(affinityKey || request.promptCacheKey),
  };
}

const maxCacheKeyLength = 64;

function toPromptCacheKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined;
  return key.length <= maxCacheKeyLength ? key : hash('sha256', key, 'hex');
}
