import { isObject, type JsonObject, objectsIn } from '@gateway/json';
import { type Conversation, imagesIn, imageTokens, textOf } from '../answer/conversation.ts';
import { countTokens } from '../answer/text.ts';
import type { ProviderRequest } from '../provider-request.ts';
import { checkRequest, type MessagesRequest } from './check-request.ts';

/** @throws {ProviderRefusal} when the provider would not accept the request. */
export function readMessagesRequest(received: ProviderRequest, purpose: 'generate' | 'count_tokens'): Conversation {
  const request = checkRequest(received, purpose);
  return {
    model: request.model,
    stream: request.stream === true,
    ...readTurn(request.messages),
    tools: objectsIn(request.tools).flatMap(declaredTool),
    toolChoice: readToolChoice(request),
    parallelToolCalls: request.tool_choice?.disable_parallel_tool_use !== true,
    answerFormat: readFormat(request),
    maxOutputTokens: request.max_tokens,
    stopSequences: request.stop_sequences ?? [],
    reasoning: readThinking(request),
    inputTokens: inputTokensOf(request),
  };
}

function readTurn(messages: readonly JsonObject[]): Pick<Conversation, 'userText' | 'imageCount' | 'toolResults'> {
  const turn = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1);
  const toolResults = turn.flatMap(({ content }) => objectsIn(content).flatMap((block) => toolResult(block, messages)));
  const user = (turn.length > 0 ? turn : messages).findLast((message) => message.role === 'user');
  return { userText: textOf(user?.content), imageCount: imagesIn(user?.content, 'image'), toolResults };
}

function toolResult(block: JsonObject, messages: readonly JsonObject[]): Conversation['toolResults'] {
  if (block.type !== 'tool_result') return [];
  const use = messages
    .flatMap((message) => objectsIn(message.content))
    .find((other) => other.type === 'tool_use' && other.id === block.tool_use_id);
  return [{ name: String(use?.name ?? block.tool_use_id), text: textOf(block.content) }];
}

function declaredTool({ name, input_schema: schema }: JsonObject): Conversation['tools'] {
  return isObject(schema) ? [{ name: String(name), schema }] : [];
}

function readToolChoice({ tool_choice: choice }: MessagesRequest): Conversation['toolChoice'] {
  if (choice?.type === 'none' || choice?.type === 'any') return { kind: choice.type };
  return choice?.type === 'tool' ? { kind: 'named', name: String(choice.name) } : { kind: 'auto' };
}

function readFormat({ output_config: config }: MessagesRequest): Conversation['answerFormat'] {
  return config?.format ? { kind: 'json_schema', schema: config.format.schema } : { kind: 'text' };
}

function readThinking({ thinking }: MessagesRequest): Conversation['reasoning'] {
  if (thinking?.type === 'disabled') return 'off';
  return thinking?.display === 'omitted' ? 'hidden' : 'shown';
}

function inputTokensOf({ tools, system, messages }: MessagesRequest): number {
  const contents = [system, ...messages.map(({ content }) => content)];
  return sum([...objectsIn(tools).map(tokensAsJson), ...contents.map(tokensOfContent)]);
}

function tokensOfContent(content: unknown): number {
  return typeof content === 'string' ? countTokens(content) : sum(objectsIn(content).map(tokensOfBlock));
}

/**
 * Counts the text of a text block, name and input of a tool use, the content of a result, a fixed
 * number for an image, and other blocks as JSON.
 */
function tokensOfBlock(block: JsonObject): number {
  if (block.type === 'text') return countTokens(String(block.text));
  if (block.type === 'image') return imageTokens;
  if (block.type === 'tool_use') return countTokens(`${block.name}${JSON.stringify(block.input)}`);
  return block.type === 'tool_result' ? tokensOfContent(block.content) : tokensAsJson(block);
}

function tokensAsJson({ cache_control: _, ...value }: JsonObject): number {
  return countTokens(JSON.stringify(value));
}

function sum(tokens: readonly number[]): number {
  return tokens.reduce((total, each) => total + each, 0);
}
