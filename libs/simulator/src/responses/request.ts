import { asString, isObject, type JsonObject, objectsIn } from '@gateway/json';
import {
  type AnswerFormat,
  type Conversation,
  type DeclaredTool,
  imageTokens,
  type ReasoningVisibility,
  type ToolChoice,
  type ToolResult,
} from '../answer/conversation.ts';
import { countTokens } from '../answer/text.ts';
import type { ProviderRequest } from '../provider-format.ts';
import { checkInput } from './check-input.ts';
import { checkParameters, checkReasoning, type ResponsesBackend } from './check-parameters.ts';

/** @throws {ProviderRefusal} when the provider would not accept the request. */
export function readResponsesRequest(request: ProviderRequest, backend: ResponsesBackend): Conversation {
  const { body } = request;
  checkParameters(body, request.models, backend);
  checkInput(body);
  checkReasoning(body, request.account);
  const items = itemsOf(body.input);
  return {
    model: String(body.model),
    stream: body.stream === true,
    ...readTurn(items),
    tools: objectsIn(body.tools).flatMap(declaredTool),
    toolChoice: readToolChoice(body.tool_choice),
    parallelToolCalls: body.parallel_tool_calls !== false,
    answerFormat: readFormat(body.text),
    maxOutputTokens: typeof body.max_output_tokens === 'number' ? body.max_output_tokens : undefined,
    stopSequences: [],
    reasoning: readReasoning(body.reasoning),
    inputTokens: inputTokensOf(body, items),
  };
}

function itemsOf(input: unknown): readonly JsonObject[] {
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : objectsIn(input);
}

function readTurn(items: readonly JsonObject[]): Pick<Conversation, 'userText' | 'imageCount' | 'toolResults'> {
  const turn = items.slice(items.findLastIndex(isOfAssistant) + 1);
  const toolResults = turn.flatMap((item) => toolResult(item, items));
  const user = (toolResults.length > 0 ? turn : items).findLast((item) => item.role === 'user');
  return { userText: textOf(user?.content), imageCount: imagesIn(user?.content), toolResults };
}

function isOfAssistant(item: JsonObject): boolean {
  return item.role === 'assistant' || item.type === 'function_call';
}

function toolResult(item: JsonObject, items: readonly JsonObject[]): readonly ToolResult[] {
  if (item.type !== 'function_call_output') return [];
  const call = items.find((other) => other.type === 'function_call' && other.call_id === item.call_id);
  return [{ name: String(call?.name), text: textOf(item.output) }];
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsIn(content)
    .flatMap((part) => asString(part.text) ?? [])
    .join('\n');
}

function imagesIn(content: unknown): number {
  return objectsIn(content).filter((part) => part.type === 'input_image').length;
}

function declaredTool(tool: JsonObject): readonly DeclaredTool[] {
  if (tool.type !== 'function') return [];
  return [{ name: String(tool.name), schema: isObject(tool.parameters) ? tool.parameters : {} }];
}

function readToolChoice(choice: unknown): ToolChoice {
  if (choice === 'none') return { kind: 'none' };
  if (choice === 'required') return { kind: 'any' };
  if (!isObject(choice)) return { kind: 'auto' };
  if (choice.type === 'function') return { kind: 'named', name: String(choice.name) };
  return choice.type === 'allowed_tools' && choice.mode === 'required' ? { kind: 'any' } : { kind: 'auto' };
}

function readFormat(text: unknown): AnswerFormat {
  const format = isObject(text) ? text.format : undefined;
  if (!isObject(format)) return { kind: 'text' };
  if (format.type === 'json_object') return { kind: 'json_object' };
  if (format.type !== 'json_schema' || !isObject(format.schema)) return { kind: 'text' };
  return { kind: 'json_schema', schema: format.schema };
}

/** Reasoning text is shown only to those who ask for a summary. */
function readReasoning(reasoning: unknown): ReasoningVisibility {
  if (!isObject(reasoning)) return 'hidden';
  if (reasoning.effort === 'none') return 'off';
  return typeof reasoning.summary === 'string' ? 'shown' : 'hidden';
}

function inputTokensOf({ tools, instructions }: JsonObject, items: readonly JsonObject[]): number {
  const texts = [
    ...objectsIn(tools).map((tool) => JSON.stringify(tool)),
    asString(instructions) ?? '',
    ...items.map(textOfItem),
  ];
  const images = items.reduce((count, { content }) => count + imagesIn(content), 0);
  return texts.reduce((sum, text) => sum + countTokens(text), images * imageTokens);
}

/** A message counts its texts, a call its name and arguments, an output its text; other items count as JSON. */
function textOfItem(item: JsonObject): string {
  if (item.type === 'function_call') return `${item.name}${item.arguments}`;
  if (item.type === 'function_call_output') return textOf(item.output);
  return item.content === undefined ? JSON.stringify(item) : textOf(item.content);
}
