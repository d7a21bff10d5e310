import { isObject, type JsonObject, objectsIn } from '@gateway/json';
import { type Conversation, imagesIn, imageTokens, textOf } from '../answer/conversation.ts';
import { countTokens } from '../answer/text.ts';
import type { ProviderRequest } from '../provider-request.ts';
import { checkRequest, type ResponsesBackend, type ResponsesRequest } from './check-request.ts';

/** @throws {ProviderRefusal} when the provider would not accept the request. */
export function readResponsesRequest(received: ProviderRequest, backend: ResponsesBackend): Conversation {
  const request = checkRequest(received, backend);
  const items = itemsOf(request.input);
  return {
    model: request.model,
    stream: request.stream === true,
    ...readTurn(items),
    tools: objectsIn(request.tools).flatMap(declaredTool),
    toolChoice: readToolChoice(request.tool_choice),
    parallelToolCalls: request.parallel_tool_calls !== false,
    answerFormat: readFormat(request),
    maxOutputTokens: request.max_output_tokens ?? undefined,
    stopSequences: [],
    reasoning: readReasoning(request.reasoning),
    inputTokens: inputTokensOf(request, items),
  };
}

function itemsOf(input: unknown): readonly JsonObject[] {
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : objectsIn(input);
}

function readTurn(items: readonly JsonObject[]): Pick<Conversation, 'userText' | 'imageCount' | 'toolResults'> {
  const turn = items.slice(items.findLastIndex(isOfAssistant) + 1);
  const toolResults = turn.flatMap((item) => toolResult(item, items));
  const user = (toolResults.length > 0 ? turn : items).findLast((item) => item.role === 'user');
  return { userText: textOf(user?.content), imageCount: imagesIn(user?.content, 'input_image'), toolResults };
}

function isOfAssistant(item: JsonObject): boolean {
  return item.role === 'assistant' || item.type === 'function_call';
}

function toolResult(item: JsonObject, items: readonly JsonObject[]): Conversation['toolResults'] {
  if (item.type !== 'function_call_output') return [];
  const call = items.find((other) => other.type === 'function_call' && other.call_id === item.call_id);
  return [{ name: String(call?.name), text: textOf(item.output) }];
}

function declaredTool(tool: JsonObject): Conversation['tools'] {
  if (tool.type !== 'function') return [];
  return [{ name: String(tool.name), schema: isObject(tool.parameters) ? tool.parameters : {} }];
}

function readToolChoice(choice: ResponsesRequest['tool_choice']): Conversation['toolChoice'] {
  if (choice === 'none') return { kind: 'none' };
  if (choice === 'required') return { kind: 'any' };
  if (typeof choice !== 'object') return { kind: 'auto' };
  if (choice?.type === 'function') return { kind: 'named', name: String(choice.name) };
  return choice?.type === 'allowed_tools' && choice.mode === 'required' ? { kind: 'any' } : { kind: 'auto' };
}

function readFormat({ text }: ResponsesRequest): Conversation['answerFormat'] {
  const { type, schema } = text?.format ?? {};
  if (type === 'json_object') return { kind: 'json_object' };
  return type === 'json_schema' && schema !== undefined ? { kind: 'json_schema', schema } : { kind: 'text' };
}

/** Reasoning text is returned only to requests for a summary. */
function readReasoning(reasoning: ResponsesRequest['reasoning']): Conversation['reasoning'] {
  if (reasoning?.effort === 'none') return 'off';
  return typeof reasoning?.summary === 'string' ? 'shown' : 'hidden';
}

function inputTokensOf({ tools, instructions }: ResponsesRequest, items: readonly JsonObject[]): number {
  const texts = [...objectsIn(tools).map((tool) => JSON.stringify(tool)), instructions ?? '', ...items.map(textOfItem)];
  const images = items.reduce((count, { content }) => count + imagesIn(content, 'input_image'), 0);
  return texts.reduce((sum, text) => sum + countTokens(text), images * imageTokens);
}

/**
 * Counts the texts of a message, name and arguments of a call, the text of an output; other items
 * count as JSON.
 */
function textOfItem(item: JsonObject): string {
  if (item.type === 'function_call') return `${item.name}${item.arguments}`;
  if (item.type === 'function_call_output') return textOf(item.output);
  return item.content === undefined ? JSON.stringify(item) : textOf(item.content);
}
