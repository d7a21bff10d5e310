import { isObject } from '../../formats/found.ts';
import type { Part } from '../script.ts';
import { type Frame, type ProviderFormat, piecesOf, type Reply, textOf } from './provider-format.ts';

/** Chat completions. @see https://platform.openai.com/docs/api-reference/chat */
export const chatFormat: ProviderFormat = {
  headers: (requestId) => ({ 'x-request-id': requestId, 'openai-version': '2020-10-01' }),
  whole: (reply) => ({
    ...shellOf(reply, 'chat.completion'),
    choices: [
      { index: 0, message: messageOf(reply.parts), logprobs: null, finish_reason: finishReasons[reply.finish] },
    ],
    usage: usageOf(reply),
  }),
  events,
  errorBody: openaiErrorBody,
  errorEvent: (message) => ({ data: JSON.stringify(openaiErrorBody(500, message)) }),
};

/**
 * The error shape of all endpoints except Messages. @see
 * https://platform.openai.com/docs/guides/error-codes
 */
export function openaiErrorBody(status: number, message: string) {
  const type = status === 429 ? 'rate_limit_exceeded' : status >= 500 ? 'server_error' : 'invalid_request_error';
  return { error: { message, type, param: null, code: status === 429 ? 'rate_limit_exceeded' : null } };
}

function* events(reply: Reply): Generator<Frame> {
  const withUsage = isObject(reply.request.stream_options) && reply.request.stream_options.include_usage === true;
  const frame = (members: object): Frame => ({
    data: JSON.stringify({
      ...shellOf(reply, 'chat.completion.chunk'),
      ...members,
      ...(withUsage && !('usage' in members) ? { usage: null } : {}),
    }),
  });
  const chunk = (delta: object, finish: string | null = null) =>
    frame({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });
  yield chunk({ role: 'assistant', content: '', refusal: null });
  let calls = 0;
  for (const part of reply.parts) {
    if (part.kind === 'text') for (const piece of piecesOf(part)) yield chunk({ content: piece });
    if (part.kind !== 'tool-call') continue;
    const index = calls++;
    const call = { id: part.id, type: 'function', function: { name: part.name, arguments: '' } };
    yield chunk({ tool_calls: [{ index, ...call }] });
    for (const piece of piecesOf(part)) yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  yield chunk({}, finishReasons[reply.finish]);
  if (withUsage) yield frame({ choices: [], usage: usageOf(reply) });
  yield { data: '[DONE]' };
}

function shellOf({ id, createdAtSeconds, model }: Reply, object: string) {
  return {
    id: `chatcmpl-${id}`,
    object,
    created: createdAtSeconds,
    model,
    service_tier: 'default',
    system_fingerprint: null,
  };
}

/** This format does not show the text of reasoning. */
function messageOf(parts: readonly Part[]) {
  const calls = parts.flatMap((part) =>
    part.kind === 'tool-call'
      ? [{ id: part.id, type: 'function', function: { name: part.name, arguments: part.arguments } }]
      : [],
  );
  const hasText = parts.some(({ kind }) => kind === 'text');
  return {
    role: 'assistant',
    content: hasText || calls.length === 0 ? textOf(parts) : null,
    refusal: null,
    annotations: [],
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

const finishReasons = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
} as const;

function usageOf({ usage: { input, cached, output, reasoning } }: Reply) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
