import type { Part } from '../script.ts';
import { openaiErrorBody } from './chat.ts';
import { type Frame, type ProviderFormat, piecesOf, type Reply } from './provider-format.ts';

/** The Responses format. @see https://platform.openai.com/docs/api-reference/responses */
export const responsesFormat: ProviderFormat = {
  headers: (requestId) => ({ 'x-request-id': requestId, 'openai-version': '2020-10-01' }),
  whole: finishedResponse,
  events,
  errorBody: openaiErrorBody,
  errorEvent: (message, position) => numbered({ type: 'error', code: 'server_error', message, param: null }, position),
};

/** @see https://platform.openai.com/docs/api-reference/responses-streaming */
function* events(reply: Reply): Generator<Frame> {
  let position = 0;
  const event = (type: string, members: object) => numbered({ type: `response.${type}`, ...members }, position++);
  const started = responseObject(reply, { status: 'in_progress', output: [], usage: null });
  yield event('created', { response: started });
  yield event('in_progress', { response: started });
  for (const [index, part] of reply.parts.entries()) {
    const place = { output_index: index };
    yield event('output_item.added', { ...place, item: itemOf(reply, part, index, false) });
    for (const [type, members] of contentOf(part, { item_id: itemId(reply, part, index), ...place })) {
      yield event(type, members);
    }
    yield event('output_item.done', { ...place, item: itemOf(reply, part, index, true) });
  }
  const response = finishedResponse(reply);
  yield event(response.status, { response });
}

/** The events between the first and the last of an item. */
function* contentOf(part: Part, place: object): Generator<readonly [type: string, members: object]> {
  const deltas = piecesOf(part);
  if (part.kind === 'tool-call') {
    for (const delta of deltas) yield ['function_call_arguments.delta', { ...place, delta }];
    yield ['function_call_arguments.done', { ...place, arguments: part.arguments, name: part.name }];
  } else if (part.kind === 'reasoning') {
    const at = { ...place, summary_index: 0 };
    yield ['reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }];
    for (const delta of deltas) yield ['reasoning_summary_text.delta', { ...at, delta }];
    yield ['reasoning_summary_text.done', { ...at, text: part.text }];
    yield ['reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text: part.text } }];
  } else {
    const at = { ...place, content_index: 0 };
    yield ['content_part.added', { ...at, part: contentPart('') }];
    for (const delta of deltas) yield ['output_text.delta', { ...at, delta, logprobs: [] }];
    yield ['output_text.done', { ...at, text: part.text, logprobs: [] }];
    yield ['content_part.done', { ...at, part: contentPart(part.text) }];
  }
}

/** An item as it is announced, without content, or in its final form. */
function itemOf(reply: Reply, part: Part, index: number, isDone: boolean) {
  const id = itemId(reply, part, index);
  const isCut = index === reply.parts.length - 1 && isIncomplete(reply);
  const status = isDone ? (isCut ? 'incomplete' : 'completed') : 'in_progress';
  if (part.kind === 'reasoning') {
    return { id, type: 'reasoning', summary: isDone ? [{ type: 'summary_text', text: part.text }] : [] };
  }
  if (part.kind === 'tool-call') {
    const written = isDone ? part.arguments : '';
    return { id, type: 'function_call', status, arguments: written, call_id: part.id, name: part.name };
  }
  return { id, type: 'message', status, content: isDone ? [contentPart(part.text)] : [], role: 'assistant' };
}

const prefixes = { text: 'msg', reasoning: 'rs', 'tool-call': 'fc' } as const;

function itemId({ id }: Reply, { kind }: Part, index: number): string {
  return `${prefixes[kind]}_${id}${index.toString(16).padStart(4, '0')}`;
}

function contentPart(text: string) {
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

function finishedResponse(reply: Reply) {
  const { input, cached, output, reasoning } = reply.usage;
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
  const items = reply.parts.map((part, index) => itemOf(reply, part, index, true));
  return responseObject(reply, { status: isIncomplete(reply) ? 'incomplete' : 'completed', output: items, usage });
}

function isIncomplete({ finish }: Reply): boolean {
  return finish === 'length' || finish === 'content-filter';
}

interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete';
  readonly output: readonly object[];
  readonly usage: object | null;
}

/** @see https://platform.openai.com/docs/api-reference/responses/object */
function responseObject(
  { id, createdAtSeconds, model, finish, request }: Reply,
  { status, output, usage }: ResponseState,
) {
  const reason = finish === 'content-filter' ? 'content_filter' : 'max_output_tokens';
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: createdAtSeconds,
    status,
    background: false,
    completed_at: status === 'completed' ? createdAtSeconds : null,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason } : null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    model,
    output,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: request.reasoning ?? { effort: null, summary: null },
    service_tier: 'default',
    store: request.store ?? true,
    temperature: 1,
    text: request.text ?? { format: { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_p: 1,
    truncation: 'disabled',
    usage,
    user: null,
  };
}

function numbered(members: { readonly type: string; readonly [member: string]: unknown }, position: number): Frame {
  return { event: members.type, data: JSON.stringify({ ...members, sequence_number: position }) };
}
