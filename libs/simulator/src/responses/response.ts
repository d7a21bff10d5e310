import { asArray, asObject, type JsonObject } from '@gateway/json';
import { EventStream } from '../answer/event-stream.ts';
import { reasoningTokensOf, tokensOf } from '../answer/plan-answer.ts';
import type { ProviderError } from '../provider-request.ts';
import type { Answer, NamedEvent, ProviderEvent } from '../simulated-format.ts';
import { contentPart, itemObject, type OutputItem, outputItemsOf } from './output-items.ts';

/**
 * The events of a streamed response, in the provider's order and with all their members.
 *
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 */
export function* responseEvents(answer: Answer): Generator<ProviderEvent> {
  const stream = new EventStream();
  const isNumbered = !answer.faults.kinds.has('unnumbered_events');
  const isPadded = asObject(answer.request.stream_options)?.include_obfuscation !== false;
  let number = 0;
  const event = (type: string, members: JsonObject) => {
    // Deltas carry padding, so that their sizes do not reveal their content.
    const padding = isPadded && 'delta' in members ? { obfuscation: 'x'.repeat((number * 7) % 16) } : {};
    const sequenceNumber = isNumbered ? number : undefined;
    number++;
    return stream.event(type, { sequence_number: sequenceNumber, ...members, ...padding });
  };
  const started = responseObject(answer, { status: 'in_progress', output: [] });
  yield event('response.created', { response: started });
  yield event('response.in_progress', { response: started });
  for (const item of outputItemsOf(answer)) {
    const place = { output_index: item.index };
    yield event('response.output_item.added', { ...place, item: itemObject(item, answer, false) });
    for (const [type, members] of contentOf(item, stream.deltasOf(item.part))) yield event(`response.${type}`, members);
    stream.finish(item.part);
    yield event('response.output_item.done', { ...place, item: itemObject(item, answer, true) });
  }
  const response = finalResponse(answer);
  yield { ...event(`response.${response.status}`, { response }), terminal: true };
}

/** The events between the start and the end of an item. */
function* contentOf(
  { id, index, part }: OutputItem,
  deltas: Iterable<string>,
): Generator<readonly [type: string, members: JsonObject]> {
  const item = { item_id: id, output_index: index };
  if (part.kind === 'tool_call') {
    for (const delta of deltas) yield ['function_call_arguments.delta', { ...item, delta }];
    yield ['function_call_arguments.done', { ...item, arguments: part.argumentsText, name: part.name }];
  } else if (part.kind === 'reasoning') {
    if (part.text === '') return;
    const place = { ...item, summary_index: 0 };
    yield ['reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } }];
    for (const delta of deltas) yield ['reasoning_summary_text.delta', { ...place, delta }];
    yield ['reasoning_summary_text.done', { ...place, text: part.text }];
    yield ['reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text: part.text } }];
  } else {
    const place = { content_index: 0, ...item };
    const [type, member, logprobs] =
      part.kind === 'text' ? ['output_text', 'text', { logprobs: [] }] : ['refusal', 'refusal', {}];
    yield ['content_part.added', { ...place, part: contentPart(part, '') }];
    for (const delta of deltas) yield [`${type}.delta`, { ...place, delta, ...logprobs }];
    yield [`${type}.done`, { ...place, [member]: part.text, ...logprobs }];
    yield ['content_part.done', { ...place, part: contentPart(part, part.text) }];
  }
}

type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed';

/** The part of a response that changes while it is generated. */
interface ResponseState {
  readonly status: ResponseStatus;
  readonly output: readonly JsonObject[];
  readonly error?: JsonObject;
}

/**
 * A response object with all its members.
 *
 * @see https://platform.openai.com/docs/api-reference/responses/object
 */
function responseObject(answer: Answer, state: ResponseState): JsonObject {
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
    tools: asArray(request.tools).map(withDefaults),
    top_logprobs: 0,
    top_p: 1,
    truncation: request.truncation ?? 'disabled',
    usage: isAtEnd(state) ? usageObject(answer) : null,
    user: request.user ?? null,
  };
}

/** The provider repeats a function with the members that a request may leave out. */
function withDefaults(tool: unknown): unknown {
  const given = asObject(tool);
  return given?.type === 'function' ? { strict: true, description: null, parameters: null, ...given } : tool;
}

/** The completed response. */
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

/** The event that reports a failed response, after this many events. */
export function failedEvent(answer: Answer, { code, message, type }: ProviderError, eventsBefore: number): NamedEvent {
  const error = { code: code ?? type ?? 'server_error', message };
  const response = responseObject(answer, { status: 'failed', output: [], error });
  const data = JSON.stringify({ type: 'response.failed', sequence_number: eventsBefore, response });
  return { name: 'response.failed', data };
}
