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
 * Parses and validates the body of a chat-completions request. Throws `invalid_json` when it is not
 * JSON in UTF-8, `unsupported_content` for content parts that the endpoint does not accept, and
 * `invalid_request` for everything else, with the path of the field.
 * @see spec "POST /v1/chat/completions"
 */
export function parseChatRequest(body: Uint8Array) {
  const parsed = parseBody(body);
  if (!isObject(parsed)) throw new GatewayError('invalid_request', 'the body must be an object');
  const request = new Fields(parsed);
  checkIgnored(request);
  return {
    model: request.required('model', aNonEmptyString),
    messages: readMessages(request),
    stream: request.optional('stream', aBoolean) ?? false,
    includeUsage: request.optionalObject('stream_options')?.optional('include_usage', aBoolean) ?? false,
    /** `max_completion_tokens`, else `max_tokens`. */
    maxOutputTokens: readMaxOutputTokens(request),
    /** Empty when absent. */
    stop: readStop(request),
    tools: request.optionalEach('tools', readTool) ?? [],
    toolChoice: readToolChoice(request),
    parallelToolCalls: request.optional('parallel_tool_calls', aBoolean),
    responseFormat: readResponseFormat(request),
    reasoningEffort: request.optional('reasoning_effort', aReasoningEffort),
    promptCacheKey: readPromptCacheKey(request),
  };
}

/**
 * A chat-completions request, parsed and validated. It contains only what the gateway uses; other
 * parameters are ignored.
 */
export type ChatRequest = Readonly<ReturnType<typeof parseChatRequest>>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseBody(body: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(body));
  } catch (cause) {
    throw new GatewayError('invalid_json', 'The body is not valid JSON in UTF-8.', { cause });
  }
}

/** Validates parameters that have no effect. */
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
  if (messages.length === 0) throw request.invalid('messages', 'must contain at least one message');
  return messages;
}

const aRole = oneOf(['system', 'developer', 'user', 'assistant', 'tool']);

export type ChatMessage = Readonly<ReturnType<typeof readMessage>>;
export type SystemMessage = Extract<ChatMessage, { readonly role: 'system' }>;
export type UserMessage = Extract<ChatMessage, { readonly role: 'user' }>;
export type AssistantMessage = Extract<ChatMessage, { readonly role: 'assistant' }>;
export type ToolMessage = Extract<ChatMessage, { readonly role: 'tool' }>;

function readMessage(message: Fields) {
  const role = message.required('role', aRole);
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system' as const, text: readTexts(message) };
    case 'user':
      return { role, parts: requiredParts(message, readUserPart) };
    case 'assistant':
      return readAssistantMessage(message);
    case 'tool':
      return { role, toolCallId: message.required('tool_call_id', aNonEmptyString), text: readTexts(message) };
  }
}

/**
 * An earlier message of the model. Its content may be null, because the model may have called
 * tools, refused or said nothing at all. A message without any content has no parts and is left out
 * of the conversation. A call in the deprecated form counts as content, although it is not read
 * here.
 */
function readAssistantMessage(message: Fields) {
  const toolCalls = message.optionalEach('tool_calls', readToolCall) ?? [];
  const refusal = message.optional('refusal', aString);
  const content = readParts(message, readAssistantPart);
  const isSilent = content === undefined && toolCalls.length === 0 && refusal === undefined;
  if (isSilent && isObject(message.members.function_call)) throw message.invalid('content', 'is required');
  const parts = content ?? [];
  return {
    role: 'assistant' as const,
    /** Parts keep their order; a refusal is a part of its own type. */
    parts: refusal === undefined ? parts : [...parts, { type: 'refusal' as const, text: refusal }],
    toolCalls,
  };
}

export type ToolCall = Readonly<ReturnType<typeof readToolCall>>;

function readToolCall(call: Fields) {
  checkFunctionType(call);
  const called = call.requiredObject('function');
  return {
    id: call.required('id', aNonEmptyString),
    name: called.required('name', aNonEmptyString),
    /** JSON text as the model wrote it; may be empty or malformed. */
    arguments: called.optional('arguments', aString) ?? '',
  };
}

/** The texts of a message that accepts no other content. */
function readTexts(message: Fields): readonly string[] {
  return requiredParts(message, readTextPart).map(({ text }) => text);
}

function requiredParts<Part>(message: Fields, readPart: PartReader<Part>) {
  const parts = readParts(message, readPart);
  if (parts === undefined) throw message.invalid('content', 'is required');
  return parts;
}

type PartReader<Part> = (part: Fields, type: string) => Part;

/** Undefined when the message has no content. */
function readParts<Part>(message: Fields, readPart: PartReader<Part>): readonly (Part | TextPart)[] | undefined {
  const { content } = message.members;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return message.optionalEach('content', (part) => readPart(part, part.required('type', aString)), aContentArray);
}

const aContentArray = { ...anArray, noun: 'a string or an array of content parts' };

export type UserPart = Readonly<ReturnType<typeof readUserPart>>;
export type ImagePart = Extract<UserPart, { readonly type: 'image' }>;
type TextPart = ReturnType<typeof readTextPart>;

function readUserPart(part: Fields, type: string) {
  return type === 'image_url' ? readImagePart(part) : readTextPart(part, type);
}

function readAssistantPart(part: Fields, type: string) {
  if (type !== 'refusal') return readTextPart(part, type);
  return { type: 'refusal' as const, text: part.required('refusal', aString) };
}

function readTextPart(part: Fields, type: string) {
  if (type === 'text') return { type: 'text' as const, text: part.required('text', aString) };
  const { path } = part;
  throw new GatewayError('unsupported_content', `${path} has the type ${quoted(type)}, which is not supported here`);
}

/** A client's text for an error message: quoted and shortened. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}

/** An `image_url` part. The URL is usually in an object; some clients send it as a string. */
function readImagePart(part: Fields) {
  const { image_url: url } = part.members;
  if (typeof url === 'string') return toImagePart(url, undefined, part.pathOf('image_url'));
  const image = part.requiredObject('image_url');
  return toImagePart(image.required('url', aNonEmptyString), image.optional('detail', aDetail), image.pathOf('url'));
}

type ImageDetail = 'auto' | 'low' | 'high' | 'original';
const aDetail = oneOf<ImageDetail>(['auto', 'low', 'high', 'original']);

function toImagePart(url: string, detail: ImageDetail | undefined, path: string) {
  if (!/^(?:https?:\/\/.|data:.)/i.test(url)) throw invalidField(path, 'must be an http, https or data URL');
  return { type: 'image' as const, url, detail };
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

export type FunctionTool = Readonly<ReturnType<typeof readTool>>;

function readTool(tool: Fields) {
  checkFunctionType(tool);
  const definition = tool.requiredObject('function');
  /** `parameters` is the JSON Schema of the arguments. */
  return { ...readDefinition(definition), parameters: definition.optionalObject('parameters')?.members };
}

/** Reads what the definitions of a function and of a response format have in common. */
function readDefinition(definition: Fields) {
  return {
    name: definition.required('name', aNonEmptyString),
    description: definition.optional('description', aString),
    strict: definition.optional('strict', aBoolean),
  };
}

/** Tools and tool calls must be functions; an absent type also means a function. */
function checkFunctionType(object: Fields): void {
  const type = object.optional('type', aString);
  if (type !== undefined && type !== 'function') throw object.invalid('type', 'must be "function"');
}

export type ToolChoice = NonNullable<ChatRequest['toolChoice']>;
export type ResponseFormat = ChatRequest['responseFormat'];

/** Reads which tools the model must or may call. */
function readToolChoice(request: Fields) {
  if (!isObject(request.members.tool_choice)) return request.optional('tool_choice', aChoice);
  const choice = request.requiredObject('tool_choice');
  checkFunctionType(choice);
  return { functionName: choice.requiredObject('function').required('name', aNonEmptyString) };
}

const aChoice = {
  ...oneOf(['none', 'auto', 'required']),
  noun: 'none, auto, required, or an object that names a function',
};

/** Reads the format that the answer must have; plain text when the field is absent. */
function readResponseFormat(request: Fields) {
  const format = request.optionalObject('response_format');
  const type = format?.required('type', aFormatType) ?? 'text';
  if (format === undefined || type === 'text') return { type: 'text' as const };
  if (type === 'json_object') return { type };
  const definition = format.requiredObject('json_schema');
  return { type, ...readDefinition(definition), schema: definition.optionalObject('schema')?.members };
}

export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];

/** The effort in a lease for its class; undefined for none and for unknown words. */
export function readDefaultEffort(text: string): ReasoningEffort | undefined {
  return reasoningEfforts.find((effort) => effort === text);
}

const aFormatType = oneOf(['text', 'json_object', 'json_schema']);
const aReasoningEffort = oneOf(reasoningEfforts);

/**
 * Not a parameter of this endpoint: like any unknown parameter, it is ignored when it is not a
 * string.
 */
function readPromptCacheKey({ members: { prompt_cache_key: key } }: Fields): string | undefined {
  return typeof key === 'string' && key !== '' ? key : undefined;
}
