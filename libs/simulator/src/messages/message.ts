import { asObject, type JsonObject, parseJson } from '@gateway/json';
import { encryptReasoning } from '../answer/encrypted-reasoning.ts';
import { EventStream } from '../answer/event-stream.ts';
import { type AnswerPart, type PlannedStop, reasoningTokensOf, tokensOf } from '../answer/plan-answer.ts';
import type { Answer, ProviderEvent } from '../simulated-format.ts';

/** A whole message. @see https://docs.claude.com/en/api/messages */
export function messageObject(answer: Answer): JsonObject {
  return {
    ...messageShell(answer),
    content: answer.plan.parts.map((part, index) => blockObject(part, answer, index, true)),
    ...stopOf(answer.plan.ending),
    usage: startUsage(answer, finalUsage(answer)),
  };
}

/**
 * The events of a streamed message, in the provider's order.
 *
 * @see https://docs.claude.com/en/docs/build-with-claude/streaming
 */
export function* messageEvents(answer: Answer): Generator<ProviderEvent> {
  const { parts, ending } = answer.plan;
  const stream = new EventStream();
  const event = (name: string, members: JsonObject) => {
    const made = stream.event(name, members);
    return { ...made, outputTokens: Math.max(made.outputTokens, tokensAtStart(answer)) };
  };
  yield event('message_start', { message: startedMessage(answer) });
  if (parts.length === 0) yield event('ping', {});
  for (const [index, part] of parts.entries()) {
    yield event('content_block_start', { index, content_block: blockObject(part, answer, index, false) });
    if (index === 0) yield event('ping', {});
    for (const delta of deltasOf(part, stream, answer, index)) yield event('content_block_delta', { index, delta });
    stream.finish(part);
    yield event('content_block_stop', { index });
  }
  const usage = answer.faults.kinds.has('usage_missing') ? {} : { usage: finalUsage(answer) };
  yield event('message_delta', { delta: { ...stopOf(ending), container: null }, ...usage });
  yield { ...event('message_stop', {}), terminal: true };
}

function* deltasOf(part: AnswerPart, stream: EventStream, answer: Answer, index: number): Generator<JsonObject> {
  if (part.kind === 'reasoning') {
    for (const thinking of stream.deltasOf(part)) yield { type: 'thinking_delta', thinking };
    yield { type: 'signature_delta', signature: signatureOf(part.text, answer, index) };
  } else if (part.kind === 'tool_call') {
    // The first delta is always empty. A call without arguments has no other.
    yield { type: 'input_json_delta', partial_json: '' };
    if (part.argumentsText === '{}') return;
    for (const partial of stream.deltasOf(part)) yield { type: 'input_json_delta', partial_json: partial };
  } else for (const text of stream.deltasOf(part)) yield { type: 'text_delta', text };
}

/** The message in `message_start`: without content, and with the input part of the usage. */
function startedMessage(answer: Answer): JsonObject {
  const output = { output_tokens: tokensAtStart(answer), output_tokens_details: { thinking_tokens: 0 } };
  return { ...messageShell(answer), usage: startUsage(answer, { ...output, ...answer.faults.usage?.atStart }) };
}

/** A message is billed for its first token as soon as it starts. */
function tokensAtStart(answer: Answer): number {
  return Math.min(1, tokensOf(answer.plan.parts));
}

function messageShell({ id, conversation }: Answer): JsonObject {
  return {
    model: conversation.model,
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    content: [],
    container: null,
    diagnostics: null,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
  };
}

/** Why a message ended, as in `message_delta` and in the whole message. */
function stopOf(ending: PlannedStop): JsonObject {
  return {
    stop_reason: stopReasons[ending.kind],
    stop_sequence: ending.kind === 'stop_sequence' ? ending.sequence : null,
    stop_details:
      stopReasons[ending.kind] === 'refusal'
        ? { type: 'refusal', category: 'general_harms', explanation: 'The request asked for a refusal.' }
        : null,
  };
}

const stopReasons: Readonly<Record<PlannedStop['kind'], string>> = {
  finished: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
  refused: 'refusal',
  stop_sequence: 'stop_sequence',
};

/** The usage in `message_start` and in a whole message, with these members. */
function startUsage(answer: Answer, members: JsonObject): JsonObject | undefined {
  if (answer.faults.kinds.has('usage_missing')) return undefined;
  return {
    ...inputUsage(answer),
    cache_creation: { ephemeral_5m_input_tokens: answer.plan.cacheWriteTokens, ephemeral_1h_input_tokens: 0 },
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: 'global',
    speed: null,
    ...members,
  };
}

/** The usage in `message_delta`: totals of the whole message, not increments. */
function finalUsage(answer: Answer): JsonObject {
  return {
    ...inputUsage(answer),
    output_tokens: tokensOf(answer.plan.parts),
    output_tokens_details: { thinking_tokens: reasoningTokensOf(answer.plan.parts) },
    server_tool_use: null,
    ...answer.faults.usage?.members,
  };
}

function inputUsage({ conversation: { inputTokens }, plan: { cachedTokens, cacheWriteTokens } }: Answer): JsonObject {
  return {
    input_tokens: inputTokens - cachedTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
  };
}

/** A block, either when it starts, without content, or when it is finished. */
function blockObject(part: AnswerPart, answer: Answer, index: number, isFinished: boolean): JsonObject {
  if (part.kind === 'reasoning') {
    const [thinking, signature] = isFinished ? [part.text, signatureOf(part.text, answer, index)] : ['', ''];
    return { type: 'thinking', thinking, signature };
  }
  if (part.kind === 'tool_call') {
    const id = `toolu_${answer.id}${index.toString(16).padStart(4, '0')}`;
    // Arguments that a limit has cut can't be shown as an object.
    const input = (isFinished && asObject(parseJson(part.argumentsText))) || {};
    return { type: 'tool_use', id, name: part.name, input, caller: { type: 'direct' } };
  }
  return { type: 'text', text: isFinished ? part.text : '', citations: null };
}

/** The signature of a thinking block with this text. */
function signatureOf(content: string, { id, account }: Answer, index: number): string {
  return encryptReasoning({ account, id: `${id} ${index}`, content });
}
