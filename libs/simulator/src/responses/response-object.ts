import { asObject, type JsonObject } from '@gateway/json';
import { reasoningTokensOf, tokensOf } from '../answer/plan-answer.ts';
import type { Answer, NamedEvent, ProviderError } from '../provider-format.ts';
import { itemObject, outputItemsOf } from './output-items.ts';

type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed';

/** What of a response changes while it is generated. */
interface ResponseState {
  readonly status: ResponseStatus;
  readonly output: readonly JsonObject[];
  readonly error?: JsonObject;
}

/**
 * A response object with all of its members.
 *
 * @see https://platform.openai.com/docs/api-reference/responses/object
 */
export function responseObject(answer: Answer, state: ResponseState): JsonObject {
  const { request } = answer;
  return {
    id: `resp_${answer.id}`,
    object: 'response',
    created_at: answer.createdAtSeconds,
    status: state.status,
    access_programs: null,
    background: false,
    completed_at: state.status === 'completed' ? answer.createdAtSeconds : null,
    conversation: null,
    error: state.error ?? null,
    incomplete_details: state.status === 'incomplete' ? { reason: incompleteReason(answer) } : null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    model: answer.conversation.model,
    moderation: null,
    output: state.output,
    parallel_tool_calls: answer.conversation.parallelToolCalls,
    previous_response_id: null,
    prompt: null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: request.prompt_cache_retention ?? null,
    reasoning: { effort: null, summary: null, ...asObject(request.reasoning) },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: state.status === 'in_progress' ? 'auto' : 'default',
    store: request.store ?? true,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium', ...asObject(request.text) },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_logprobs: 0,
    top_p: 1,
    truncation: request.truncation ?? 'disabled',
    usage: isAtEnd(state) ? usageObject(answer) : null,
    user: request.user ?? null,
  };
}

/** The response at its end. */
export function finalResponse(answer: Answer): JsonObject & Pick<ResponseState, 'status'> {
  const { kind } = answer.plan.ending;
  const status = kind === 'length' || kind === 'content_filter' ? 'incomplete' : 'completed';
  const isEmpty = answer.faults.kinds.has('empty_output');
  const output = isEmpty ? [] : outputItemsOf(answer).map((item) => itemObject(item, answer, true));
  return { ...responseObject(answer, { status, output }), status };
}

function incompleteReason({ plan }: Answer): string {
  return plan.ending.kind === 'content_filter' ? 'content_filter' : 'max_output_tokens';
}

function isAtEnd({ status }: ResponseState): boolean {
  return status === 'completed' || status === 'incomplete';
}

function usageObject({ conversation: { inputTokens }, plan, faults }: Answer): JsonObject | null {
  if (faults.kinds.has('usage_missing')) return null;
  const { parts, cachedTokens, cacheWriteTokens } = plan;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: tokensOf(parts),
    output_tokens_details: { reasoning_tokens: reasoningTokensOf(parts) },
    total_tokens: inputTokens + tokensOf(parts),
    ...faults.usage?.members,
  };
}

/** The event with which a response fails after so many events. */
export function failedEvent(answer: Answer, { code, message, type }: ProviderError, eventsBefore: number): NamedEvent {
  const error = { code: code ?? type ?? 'server_error', message };
  const response = responseObject(answer, { status: 'failed', output: [], error });
  const data = JSON.stringify({ type: 'response.failed', sequence_number: eventsBefore, response });
  return { name: 'response.failed', data };
}
