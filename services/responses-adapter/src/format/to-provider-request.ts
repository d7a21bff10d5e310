import { hash } from 'node:crypto';
import type { ChatRequest } from '@gateway/chat';
import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { convertMessages, type InputItem } from './convert-messages.ts';
import { convertResponseFormat, mentionJson, type TextMember } from './convert-response-format.ts';
import { convertTools, type ToolMembers } from './convert-tools.ts';
import { mapReasoningEffort, readEffort, type WireEffort } from './map-reasoning-effort.ts';

/**
 * A Responses request that answers a chat request. It has no member for an output limit, stop sequences or sampling:
 * subscription backends refuse them. @see spec "POST /v1/chat/completions"
 */
export interface ResponsesRequest extends ToolMembers {
  readonly model: string;
  /** Streamed whatever the client asked for: a long answer would else run into idle timeouts. */
  readonly stream: true;
  readonly store: false;
  readonly instructions: string | undefined;
  readonly input: readonly InputItem[];
  readonly text: TextMember | undefined;
  readonly reasoning: { readonly effort: WireEffort } | undefined;
  readonly prompt_cache_key: string | undefined;
}

export interface RequestContext {
  readonly lease: Pick<Lease, 'model' | 'defaultEffort' | 'traits'>;
  /** Empty when the request belongs to no group. */
  readonly affinityKey: string;
}

/** The provider's request for a chat request. Members that are undefined are not sent. */
export function toProviderRequest(request: ChatRequest, { lease, affinityKey }: RequestContext): ResponsesRequest {
  const conversation = mentionJson(convertMessages(request.messages), request.responseFormat);
  const wanted = request.reasoningEffort ?? readEffort(lease.defaultEffort);
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
