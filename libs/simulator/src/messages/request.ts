import { asArray, asString, isObject, type JsonObject, objectsIn } from '@gateway/json';
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
import { checkMessages } from './check-messages.ts';
import { checkEarlierThinking, checkParameters } from './check-parameters.ts';

/** @throws {ProviderRefusal} when the provider would not accept the request. */
export function readMessagesRequest(
  { account, body, headers, models }: ProviderRequest,
  purpose: 'generate' | 'count_tokens',
): Conversation {
  checkParameters(body, { headers, models, purpose });
  checkMessages(body);
  checkEarlierThinking(body.messages, account);
  const choice = isObject(body.tool_choice) ? body.tool_choice : {};
  return {
    model: String(body.model),
    stream: body.stream === true,
    ...readTurn(objectsIn(body.messages)),
    tools: objectsIn(body.tools).flatMap(declaredTool),
    toolChoice: readToolChoice(choice),
    parallelToolCalls: choice.disable_parallel_tool_use !== true,
    answerFormat: readFormat(body.output_config),
    maxOutputTokens: typeof body.max_tokens === 'number' ? body.max_tokens : undefined,
    stopSequences: asArray(body.stop_sequences).filter((sequence) => typeof sequence === 'string'),
    reasoning: readThinking(body.thinking),
    inputTokens: inputTokensOf(body),
  };
}

function readTurn(messages: readonly JsonObject[]): Pick<Conversation, 'userText' | 'imageCount' | 'toolResults'> {
  const turn = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1);
  const toolResults = turn.flatMap(({ content }) => objectsIn(content).flatMap((block) => toolResult(block, messages)));
  const user = (turn.length > 0 ? turn : messages).findLast((message) => message.role === 'user');
  return { userText: textOf(user?.content), imageCount: imagesIn(user?.content), toolResults };
}

function toolResult(block: JsonObject, messages: readonly JsonObject[]): readonly ToolResult[] {
  if (block.type !== 'tool_result') return [];
  const use = messages
    .flatMap((message) => objectsIn(message.content))
    .find((other) => other.type === 'tool_use' && other.id === block.tool_use_id);
  return [{ name: String(use?.name ?? block.tool_use_id), text: textOf(block.content) }];
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsIn(content)
    .flatMap((block) => asString(block.text) ?? [])
    .join('\n');
}

function imagesIn(content: unknown): number {
  return objectsIn(content).filter((block) => block.type === 'image').length;
}

function declaredTool({ name, input_schema: schema }: JsonObject): readonly DeclaredTool[] {
  return isObject(schema) ? [{ name: String(name), schema }] : [];
}

function readToolChoice({ type, name }: JsonObject): ToolChoice {
  if (type === 'none' || type === 'any') return { kind: type };
  return type === 'tool' ? { kind: 'named', name: String(name) } : { kind: 'auto' };
}

function readFormat(config: unknown): AnswerFormat {
  const format = isObject(config) ? config.format : undefined;
  if (!isObject(format) || !isObject(format.schema)) return { kind: 'text' };
  return { kind: 'json_schema', schema: format.schema };
}

function readThinking(thinking: unknown): ReasoningVisibility {
  if (!isObject(thinking)) return 'shown';
  if (thinking.type === 'disabled') return 'off';
  return thinking.display === 'omitted' ? 'hidden' : 'shown';
}

function inputTokensOf({ tools, system, messages }: JsonObject): number {
  const contents = [system, ...objectsIn(messages).map(({ content }) => content)];
  return sum([...objectsIn(tools).map(tokensAsJson), ...contents.map(tokensOfContent)]);
}

function tokensOfContent(content: unknown): number {
  return typeof content === 'string' ? countTokens(content) : sum(objectsIn(content).map(tokensOfBlock));
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

/** What a model of the Messages provider takes and refuses. */
export interface ModelTraits {
  readonly maximumTokens: number;
  readonly adaptiveThinking: boolean;
  /** `thinking.type: "enabled"` with a budget. */
  readonly budgetThinking: boolean;
  readonly thinkingCanBeDisabled: boolean;
  /** Empty: the model knows no effort. */
  readonly efforts: readonly string[];
  /** `tool_choice` of type `any` or `tool`. */
  readonly forcedTools: boolean;
  /** A conversation that ends with an assistant message. */
  readonly prefill: boolean;
  /** `temperature`, `top_p` and `top_k`. */
  readonly sampling: boolean;
  /** Messages with role `system`. */
  readonly systemMessages: boolean;
}

/**
 * The traits of a model, by the family and version in its id; an id of another form is taken for the newest.
 *
 * @see https://docs.claude.com/en/docs/about-claude/models/overview
 */
export function traitsOf(model: string): ModelTraits {
  const { family, version } = familyAndVersion(model);
  const alwaysThinks = family === 'fable' || family === 'mythos' || (version >= 505 && family !== 'haiku');
  return {
    maximumTokens: maximumTokensOf(version),
    adaptiveThinking: version >= 406,
    budgetThinking: version <= 406,
    thinkingCanBeDisabled: !alwaysThinks,
    efforts: effortsOf(family, version),
    forcedTools: !(alwaysThinks && version > 500),
    prefill: version < 406,
    sampling: version < 407,
    systemMessages: version >= 408,
  };
}

function familyAndVersion(model: string): { family: string; version: number } {
  const match = /^claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?!\d)/.exec(model);
  if (match === null) return { family: 'opus', version: 500 };
  return { family: match[1] ?? '', version: Number(match[2]) * 100 + Number(match[3] ?? 0) };
}

function maximumTokensOf(version: number): number {
  if (version >= 406) return 128_000;
  return version > 401 ? 64_000 : 32_000;
}

function effortsOf(family: string, version: number): readonly string[] {
  if (version >= 407) return ['low', 'medium', 'high', 'xhigh', 'max'];
  if (version === 406) return ['low', 'medium', 'high', 'max'];
  return family === 'opus' && version === 405 ? ['low', 'medium', 'high'] : [];
}
