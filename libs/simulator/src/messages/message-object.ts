import { asObject, type JsonObject, parseJson } from '@gateway/json';
import { encryptReasoning } from '../answer/encrypted-reasoning.ts';
import { type AnswerEnding, type AnswerPart, reasoningTokensOf, tokensOf } from '../answer/plan-answer.ts';
import type { Answer } from '../provider-format.ts';

/** A whole message. @see https://docs.claude.com/en/api/messages */
export function messageObject(answer: Answer): JsonObject {
  return {
    ...messageShell(answer),
    content: answer.plan.parts.map((part, index) => blockObject(part, answer, index, true)),
    ...stopOf(answer.plan.ending),
    usage: startUsage(answer, finalUsage(answer)),
  };
}

/** The message of `message_start`: without content, and with the input side of the usage. */
export function startedMessage(answer: Answer): JsonObject {
  const output = { output_tokens: tokensAtStart(answer), output_tokens_details: { thinking_tokens: 0 } };
  return { ...messageShell(answer), usage: startUsage(answer, { ...output, ...answer.faults.usage?.atStart }) };
}

/** A message is billed for its first token as soon as it starts. */
export function tokensAtStart(answer: Answer): number {
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
export function stopOf(ending: AnswerEnding): JsonObject {
  return {
    stop_reason: stopReasons[ending.kind],
    stop_sequence: ending.kind === 'stop_sequence' ? ending.sequence : null,
    stop_details:
      stopReasons[ending.kind] === 'refusal'
        ? { type: 'refusal', category: 'general_harms', explanation: 'The request asked for a refusal.' }
        : null,
  };
}

const stopReasons: Readonly<Record<AnswerEnding['kind'], string>> = {
  finished: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
  refused: 'refusal',
  stop_sequence: 'stop_sequence',
};

/** The usage of `message_start` and of a whole message, with these members. */
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

/** The usage of `message_delta`: totals of the whole message, not additions. */
export function finalUsage(answer: Answer): JsonObject {
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

/** A block as it is announced, with nothing of its content yet, or when it is finished. */
export function blockObject(part: AnswerPart, answer: Answer, index: number, isFinished: boolean): JsonObject {
  if (part.kind === 'reasoning') {
    const [thinking, signature] = isFinished ? [part.text, signatureOf(part.text, answer, index)] : ['', ''];
    return { type: 'thinking', thinking, signature };
  }
  if (part.kind === 'tool_call') {
    const id = `toolu_${answer.id}${index.toString(16).padStart(4, '0')}`;
    // Arguments that a limit cut in two can't be shown as an object.
    const input = (isFinished && asObject(parseJson(part.argumentsText))) || {};
    return { type: 'tool_use', id, name: part.name, input, caller: { type: 'direct' } };
  }
  return { type: 'text', text: isFinished ? part.text : '', citations: null };
}

/** The signature of a thinking block with that text. */
export function signatureOf(content: string, { id, account }: Answer, index: number): string {
  return encryptReasoning({ account, id: `${id} ${index}`, content });
}
