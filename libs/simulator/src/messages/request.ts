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
import { isJsonObject, type JsonObject, toArray, toObjects, toText } from '../json-value.ts';
import type { ProviderRequest } from '../provider-format.ts';
import { checkMessages } from './check-messages.ts';
import { checkParameters } from './check-parameters.ts';
import { checkThinking } from './check-thinking.ts';

/** @throws {ProviderRefusal} when the provider would not accept the request. */
export function readMessagesRequest(
  { account, body, headers, models }: ProviderRequest,
  purpose: 'generate' | 'count_tokens',
): Conversation {
  checkParameters(body, { headers, models, purpose });
  checkMessages(body);
  checkThinking(body.messages, account);
  const choice = isJsonObject(body.tool_choice) ? body.tool_choice : {};
  return {
    model: String(body.model),
    stream: body.stream === true,
    ...readTurn(toObjects(body.messages)),
    tools: toObjects(body.tools).flatMap(declaredTool),
    toolChoice: readToolChoice(choice),
    parallelToolCalls: choice.disable_parallel_tool_use !== true,
    answerFormat: readFormat(body.output_config),
    maxOutputTokens: typeof body.max_tokens === 'number' ? body.max_tokens : undefined,
    stopSequences: toArray(body.stop_sequences).filter((sequence) => typeof sequence === 'string'),
    reasoning: readThinking(body.thinking),
    inputTokens: inputTokensOf(body),
  };
}

function readTurn(messages: readonly JsonObject[]): Pick<Conversation, 'userText' | 'imageCount' | 'toolResults'> {
  const turn = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1);
  const toolResults = turn.flatMap(({ content }) => toObjects(content).flatMap((block) => toolResult(block, messages)));
  const user = (turn.length > 0 ? turn : messages).findLast((message) => message.role === 'user');
  return { userText: textOf(user?.content), imageCount: imagesIn(user?.content), toolResults };
}

function toolResult(block: JsonObject, messages: readonly JsonObject[]): readonly ToolResult[] {
  if (block.type !== 'tool_result') return [];
  const use = messages
    .flatMap((message) => toObjects(message.content))
    .find((other) => other.type === 'tool_use' && other.id === block.tool_use_id);
  return [{ name: String(use?.name ?? block.tool_use_id), text: textOf(block.content) }];
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return toObjects(content)
    .flatMap((block) => toText(block.text) ?? [])
    .join('\n');
}

function imagesIn(content: unknown): number {
  return toObjects(content).filter((block) => block.type === 'image').length;
}

function declaredTool({ name, input_schema: schema }: JsonObject): readonly DeclaredTool[] {
  return isJsonObject(schema) ? [{ name: String(name), schema }] : [];
}

function readToolChoice({ type, name }: JsonObject): ToolChoice {
  if (type === 'none' || type === 'any') return { kind: type };
  return type === 'tool' ? { kind: 'named', name: String(name) } : { kind: 'auto' };
}

function readFormat(config: unknown): AnswerFormat {
  const format = isJsonObject(config) ? config.format : undefined;
  if (!isJsonObject(format) || !isJsonObject(format.schema)) return { kind: 'text' };
  return { kind: 'json_schema', schema: format.schema };
}

function readThinking(thinking: unknown): ReasoningVisibility {
  if (!isJsonObject(thinking)) return 'shown';
  if (thinking.type === 'disabled') return 'off';
  return thinking.display === 'omitted' ? 'hidden' : 'shown';
}

function inputTokensOf({ tools, system, messages }: JsonObject): number {
  const contents = [system, ...toObjects(messages).map(({ content }) => content)];
  return sum([...toObjects(tools).map(tokensAsJson), ...contents.map(tokensOfContent)]);
}

function tokensOfContent(content: unknown): number {
  return typeof content === 'string' ? countTokens(content) : sum(toObjects(content).map(tokensOfBlock));
}

/** Text counts its text, a tool use its name and input, a result its content, an image a fixed number, the rest as JSON. */
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
