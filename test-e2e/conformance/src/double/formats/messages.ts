import { messagesErrorTypeOf } from '../../formats/messages-error-types.ts';
import type { Part } from '../script.ts';
import { type Frame, type ProviderFormat, piecesOf, type Reply } from './provider-format.ts';

/** The Messages format. @see https://docs.claude.com/en/api/messages */
export const messagesFormat: ProviderFormat = {
  headers: (requestId) => ({ 'request-id': requestId, 'anthropic-organization-id': 'provider-double' }),
  whole: (reply) => ({
    ...shellOf(reply),
    content: reply.parts.map((part) => blockOf(part, true)),
    ...stopOf(reply),
    usage: usageOf(reply, reply.usage.output),
  }),
  events,
  errorBody: (status, message) => ({ ...errorOf(status, message), request_id: 'req_double' }),
  errorEvent: (message) => ({ event: 'error', data: JSON.stringify(errorOf(529, message)) }),
};

/**
 * `/v1/messages/count_tokens`, which never streams.
 * @see https://docs.claude.com/en/api/messages-count-tokens
 */
export const countFormat: ProviderFormat = {
  ...messagesFormat,
  whole: ({ usage }) => ({ input_tokens: usage.input }),
};

/** @see https://docs.claude.com/en/docs/build-with-claude/streaming */
function* events(reply: Reply): Generator<Frame> {
  const event = (type: string, members: object): Frame => ({ event: type, data: JSON.stringify({ type, ...members }) });
  // The first token counts when the message starts.
  const usageAtStart = usageOf(reply, Math.min(1, reply.usage.output));
  yield event('message_start', { message: { ...shellOf(reply), usage: usageAtStart } });
  for (const [index, part] of reply.parts.entries()) {
    yield event('content_block_start', { index, content_block: blockOf(part, false) });
    if (index === 0) yield event('ping', {});
    for (const delta of deltasOf(part)) yield event('content_block_delta', { index, delta });
    yield event('content_block_stop', { index });
  }
  yield event('message_delta', { delta: stopOf(reply), usage: usageOf(reply, reply.usage.output) });
  yield event('message_stop', {});
}

function* deltasOf(part: Part): Generator<object> {
  if (part.kind === 'tool-call') {
    // The first delta is always empty; a call without arguments has no other.
    yield { type: 'input_json_delta', partial_json: '' };
    for (const piece of part.arguments === '{}' ? [] : piecesOf(part)) {
      yield { type: 'input_json_delta', partial_json: piece };
    }
  } else if (part.kind === 'reasoning') {
    for (const piece of piecesOf(part)) yield { type: 'thinking_delta', thinking: piece };
    yield { type: 'signature_delta', signature };
  } else for (const text of piecesOf(part)) yield { type: 'text_delta', text };
}

/** A block as it is announced, without content, or in its final form. */
function blockOf(part: Part, isDone: boolean): object {
  if (part.kind === 'text') return { type: 'text', text: isDone ? part.text : '' };
  if (part.kind === 'reasoning') {
    return { type: 'thinking', thinking: isDone ? part.text : '', signature: isDone ? signature : '' };
  }
  const input: unknown = isDone ? JSON.parse(part.arguments || '{}') : {};
  return { type: 'tool_use', id: part.id, name: part.name, input };
}

const signature = Buffer.from('made by the provider double').toString('base64');

function shellOf({ id, model }: Reply) {
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  };
}

const stopReasons = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
} as const;

function stopOf({ finish }: Reply) {
  return { stop_reason: stopReasons[finish], stop_sequence: null };
}

function usageOf({ usage: { input, cached, reasoning } }: Reply, output: number) {
  return {
    input_tokens: input - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output,
    output_tokens_details: { thinking_tokens: Math.min(reasoning, output) },
    service_tier: 'standard',
  };
}

/** @see https://docs.claude.com/en/api/errors */
function errorOf(status: number, message: string) {
  return { type: 'error', error: { type: messagesErrorTypeOf(status), message } };
}
