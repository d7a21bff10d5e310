import { GatewayError } from '@gateway/errors';
import { isObject } from '@gateway/json';
import {
  aBoolean,
  aNonEmptyString,
  aNumber,
  anArray,
  aPositiveInteger,
  aString,
  Fields,
  invalidField,
  oneOf,
} from './read-fields.ts';

/**
 * Parses and checks the body of a chat-completions request. Throws `invalid_json` for what is not JSON in UTF-8,
 * `unsupported_content` for content parts that the endpoint does not take, and `invalid_request` for everything else,
 * with the path of the field.
 * @see spec "POST /v1/chat/completions"
 */
export function parseChatRequest(body: Uint8Array): ChatRequest {
  const parsed = parseBody(body);
  if (!isObject(parsed)) throw new GatewayError('invalid_request', 'the body must be an object');
  const request = new Fields(parsed);
  checkIgnored(request);
  return {
    model: request.required('model', aNonEmptyString),
    messages: readMessages(request),
    stream: request.optional('stream', aBoolean) ?? false,
    includeUsage: request.optionalObject('stream_options')?.optional('include_usage', aBoolean) ?? false,
    maxOutputTokens: readMaxOutputTokens(request),
    stop: readStop(request),
    tools: request.optionalEach('tools', readTool) ?? [],
    toolChoice: readToolChoice(request),
    parallelToolCalls: request.optional('parallel_tool_calls', aBoolean),
    responseFormat: readResponseFormat(request),
    reasoningEffort: request.optional('reasoning_effort', aReasoningEffort),
    promptCacheKey: readPromptCacheKey(request),
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseBody(body: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(body));
  } catch (cause) {
    throw new GatewayError('invalid_json', 'The body is not valid JSON in UTF-8.', { cause });
  }
}

/** Parameters that have a rule but no effect. */
function checkIgnored(request: Fields): void {
  request.optional('temperature', aNumber);
  request.optional('top_p', aNumber);
  const n = request.optional('n', aNumber);
  if (n !== undefined && n !== 1) throw request.invalid('n', 'must be 1');
}

/** The conversation. @see spec "Request message (chat completions)" */
function readMessages(request: Fields): readonly ChatMessage[] {
  const messages = request.optionalEach('messages', readMessage);
  if (messages === undefined) throw request.invalid('messages', 'is required');
  if (messages.length === 0) throw request.invalid('messages', 'must hold at least one message');
  return messages;
}

const aRole = oneOf(['system', 'developer', 'user', 'assistant', 'tool']);

function readMessage(message: Fields): ChatMessage {
  const role = message.required('role', aRole);
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', text: readTexts(message) };
    case 'user':
      return { role, parts: requiredParts<UserPart>(message, readUserPart) };
    case 'assistant':
      return readAssistantMessage(message);
    case 'tool':
      return { role, toolCallId: message.required('tool_call_id', aNonEmptyString), text: readTexts(message) };
  }
}

/**
 * What a model said before. Its content may be null: it may have called tools, or refused, or said nothing at all. What says
 * nothing has no parts, and is left out of the conversation; a call in the old form says something that is not read here.
 */
function readAssistantMessage(message: Fields): AssistantMessage {
  const toolCalls = message.optionalEach('tool_calls', readToolCall) ?? [];
  const refusal = message.optional('refusal', aString);
  const content = readParts<AssistantPart>(message, readAssistantPart);
  const isSilent = content === undefined && toolCalls.length === 0 && refusal === undefined;
  if (isSilent && isObject(message.members.function_call)) throw message.invalid('content', 'is required');
  const parts = content ?? [];
  return {
    role: 'assistant',
    parts: refusal === undefined ? parts : [...parts, { type: 'refusal', text: refusal }],
    toolCalls,
  };
}

function readToolCall(call: Fields): ToolCall {
  checkFunctionType(call);
  const called = call.requiredObject('function');
  return {
    id: call.required('id', aNonEmptyString),
    name: called.required('name', aNonEmptyString),
    arguments: called.optional('arguments', aString) ?? '',
  };
}

/** The texts of a message that takes nothing else. */
function readTexts(message: Fields): readonly string[] {
  return requiredParts<TextPart>(message, readTextPart).map(({ text }) => text);
}

type PartReader<Part> = (part: Fields, type: string) => Part;

function requiredParts<Part>(message: Fields, readPart: PartReader<Part>): readonly (Part | TextPart)[] {
  const parts = readParts(message, readPart);
  if (parts === undefined) throw message.invalid('content', 'is required');
  return parts;
}

/** Undefined when the message has no content. */
function readParts<Part>(message: Fields, readPart: PartReader<Part>): readonly (Part | TextPart)[] | undefined {
  const { content } = message.members;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return message.optionalEach('content', (part) => readPart(part, part.required('type', aString)), aContentArray);
}

const aContentArray = { ...anArray, noun: 'a string or an array of content parts' };

function readUserPart(part: Fields, type: string): UserPart {
  return type === 'image_url' ? readImagePart(part) : readTextPart(part, type);
}

function readAssistantPart(part: Fields, type: string): AssistantPart {
  return type === 'refusal' ? { type, text: part.required('refusal', aString) } : readTextPart(part, type);
}

function readTextPart(part: Fields, type: string): TextPart {
  if (type === 'text') return { type, text: part.required('text', aString) };
  const { path } = part;
  throw new GatewayError('unsupported_content', `${path} has the type ${quoted(type)}, which is not supported here`);
}

/** A client's text as it may appear in an error: in quotes and short. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

/** An `image_url` part. The URL is usually in an object; some clients send it as it is. */
function readImagePart(part: Fields): ImagePart {
  const { image_url: url } = part.members;
  if (typeof url === 'string') return toImagePart(url, undefined, part.pathOf('image_url'));
  const image = part.requiredObject('image_url');
  return toImagePart(image.required('url', aNonEmptyString), image.optional('detail', aDetail), image.pathOf('url'));
}

const aDetail = oneOf(['auto', 'low', 'high', 'original']);

function toImagePart(url: string, detail: ImagePart['detail'], path: string): ImagePart {
  if (!/^(?:https?:\/\/.|data:.)/i.test(url)) throw invalidField(path, 'must be an http, https or data URL');
  return { type: 'image', url, detail };
}

function readMaxOutputTokens(request: Fields): number | undefined {
  const maxTokens = request.optional('max_tokens', aPositiveInteger);
  return request.optional('max_completion_tokens', aPositiveInteger) ?? maxTokens;
}

function readStop(request: Fields): readonly string[] {
  const { stop } = request.members;
  if (typeof stop === 'string') return [stop];
  const sequences = request.optional('stop', { ...anArray, noun: 'a string or an array of strings' }) ?? [];
  return sequences.map((sequence, index) => {
    if (typeof sequence !== 'string') throw invalidField(`stop[${index}]`, 'must be a string');
    return sequence;
  });
}

function readTool(tool: Fields): FunctionTool {
  checkFunctionType(tool);
  const definition = tool.requiredObject('function');
  return { ...readDefinition(definition), parameters: definition.optionalObject('parameters')?.members };
}

/** What the definitions of a function and of an answer's form have alike. */
function readDefinition(definition: Fields): Definition {
  return {
    name: definition.required('name', aNonEmptyString),
    description: definition.optional('description', aString),
    strict: definition.optional('strict', aBoolean),
  };
}

/** Tools and tool calls are functions, also where the type is left out. */
function checkFunctionType(object: Fields): void {
  const type = object.optional('type', aString);
  if (type !== undefined && type !== 'function') throw object.invalid('type', 'must be "function"');
}

/** Which tools the model must or may call. */
function readToolChoice(request: Fields): ToolChoice | undefined {
  if (!isObject(request.members.tool_choice)) return request.optional('tool_choice', aChoice);
  const choice = request.requiredObject('tool_choice');
  checkFunctionType(choice);
  return { functionName: choice.requiredObject('function').required('name', aNonEmptyString) };
}

const aChoice = {
  ...oneOf(['none', 'auto', 'required']),
  noun: 'none, auto, required, or an object that names a function',
};

/** The form that the answer's text is to have; plain text when the field is absent. */
function readResponseFormat(request: Fields): ResponseFormat {
  const format = request.optionalObject('response_format');
  if (format === undefined) return { type: 'text' };
  const type = format.required('type', aFormatType);
  if (type !== 'json_schema') return { type };
  const definition = format.requiredObject('json_schema');
  return { type, ...readDefinition(definition), schema: definition.optionalObject('schema')?.members };
}

export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];

const aFormatType = oneOf(['text', 'json_object', 'json_schema']);
const aReasoningEffort = oneOf(reasoningEfforts);

/** No parameter of this endpoint: what is not a text is ignored, as unknown parameters are. */
function readPromptCacheKey({ members: { prompt_cache_key: key } }: Fields): string | undefined {
  return typeof key === 'string' && key !== '' ? key : undefined;
}

/**
 * A chat-completions request, parsed and checked. Only what the gateway uses is here; other parameters are ignored.
 * @see spec "POST /v1/chat/completions"
 */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** `max_completion_tokens`, else `max_tokens`. */
  readonly maxOutputTokens: number | undefined;
  /** Empty when none was given. */
  readonly stop: readonly string[];
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelToolCalls: boolean | undefined;
  readonly responseFormat: ResponseFormat;
  readonly reasoningEffort: ReasoningEffort | undefined;
  readonly promptCacheKey: string | undefined;
}

export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** `developer` is read as `system`. */
export interface SystemMessage {
  readonly role: 'system';
  readonly text: readonly string[];
}

export interface UserMessage {
  readonly role: 'user';
  readonly parts: readonly UserPart[];
}

export type UserPart = TextPart | ImagePart;

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

export interface ImagePart {
  readonly type: 'image';
  /** An http(s) or data URL. */
  readonly url: string;
  readonly detail: 'auto' | 'low' | 'high' | 'original' | undefined;
}

export interface AssistantMessage {
  readonly role: 'assistant';
  /** Text parts in order; refusals count as text of their own kind. */
  readonly parts: readonly AssistantPart[];
  readonly toolCalls: readonly ToolCall[];
}

export type AssistantPart = TextPart | { readonly type: 'refusal'; readonly text: string };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it; may be empty or broken. */
  readonly arguments: string;
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly toolCallId: string;
  readonly text: readonly string[];
}

interface Definition {
  readonly name: string;
  readonly description: string | undefined;
  readonly strict: boolean | undefined;
}

export interface FunctionTool extends Definition {
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>> | undefined;
}

export type ToolChoice = 'none' | 'auto' | 'required' | { readonly functionName: string };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | ({
      readonly type: 'json_schema';
      readonly schema: Readonly<Record<string, unknown>> | undefined;
    } & Definition);
