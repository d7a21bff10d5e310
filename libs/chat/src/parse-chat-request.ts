import { GatewayError } from '@gateway/errors';
import { isObject, type JsonObject } from '@gateway/json';
import {
  aBoolean,
  aNonEmptyString,
  aNumber,
  anArray,
  anObject,
  aPositiveInteger,
  aString,
  fieldPath,
  invalidField,
  objectsOf,
  oneOf,
  optionalField,
  quoted,
  requiredField,
} from './read-fields.ts';
import {
  type AssistantMessage,
  type AssistantPart,
  type ChatMessage,
  type ChatRequest,
  type FunctionTool,
  type ImagePart,
  type ResponseFormat,
  reasoningEfforts,
  type TextPart,
  type ToolCall,
  type ToolChoice,
  type UserPart,
} from './request.ts';

/**
 * Parses and checks the body of a chat-completions request. Throws `invalid_json` for what is not JSON in UTF-8,
 * `unsupported_content` for content parts that the endpoint does not take, and `invalid_request` for everything else,
 * with the path of the field.
 * @see spec "POST /v1/chat/completions"
 */
export function parseChatRequest(body: Uint8Array): ChatRequest {
  const request = parseBody(body);
  if (!isObject(request)) throw new GatewayError('invalid_request', 'the body must be an object');
  checkIgnored(request);
  return {
    model: requiredField(request, 'model', '', aNonEmptyString),
    messages: readMessages(request),
    stream: optionalField(request, 'stream', '', aBoolean) ?? false,
    includeUsage: readIncludeUsage(request),
    maxOutputTokens: readMaxOutputTokens(request),
    stop: readStop(request),
    tools: readTools(request),
    toolChoice: readToolChoice(request),
    parallelToolCalls: optionalField(request, 'parallel_tool_calls', '', aBoolean),
    responseFormat: readResponseFormat(request),
    reasoningEffort: optionalField(request, 'reasoning_effort', '', aReasoningEffort),
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
function checkIgnored(request: JsonObject): void {
  optionalField(request, 'temperature', '', aNumber);
  optionalField(request, 'top_p', '', aNumber);
  const n = optionalField(request, 'n', '', aNumber);
  if (n !== undefined && n !== 1) throw invalidField('n', 'must be 1');
}

/** The conversation. @see spec "Request message (chat completions)" */
function readMessages(request: JsonObject): readonly ChatMessage[] {
  const messages = requiredField(request, 'messages', '', anArray);
  if (messages.length === 0) throw invalidField('messages', 'must hold at least one message');
  return objectsOf(messages, 'messages', readMessage);
}

const aRole = oneOf(['system', 'developer', 'user', 'assistant', 'tool']);

function readMessage(message: JsonObject, path: string): ChatMessage {
  const role = requiredField(message, 'role', path, aRole);
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', text: readTexts(message, path) };
    case 'user':
      return { role, parts: requiredParts<UserPart>(message, path, readUserPart) };
    case 'assistant':
      return readAssistantMessage(message, path);
    case 'tool':
      return {
        role,
        toolCallId: requiredField(message, 'tool_call_id', path, aNonEmptyString),
        text: readTexts(message, path),
      };
  }
}

/**
 * What a model said before. Its content may be null: it may have called tools, or refused, or said nothing at all. What says
 * nothing has no parts, and is left out of the conversation; a call in the old form says something that is not read here.
 */
function readAssistantMessage(message: JsonObject, path: string): AssistantMessage {
  const toolCalls = readToolCalls(message, path);
  const refusal = optionalField(message, 'refusal', path, aString);
  const content = readParts<AssistantPart>(message, path, readAssistantPart);
  const isSilent = content === undefined && toolCalls.length === 0 && refusal === undefined;
  if (isSilent && isObject(message.function_call)) throw invalidField(fieldPath(path, 'content'), 'is required');
  const parts = content ?? [];
  return {
    role: 'assistant',
    parts: refusal === undefined ? parts : [...parts, { type: 'refusal', text: refusal }],
    toolCalls,
  };
}

function readToolCalls(message: JsonObject, path: string): readonly ToolCall[] {
  const calls = optionalField(message, 'tool_calls', path, anArray);
  return calls === undefined ? [] : objectsOf(calls, fieldPath(path, 'tool_calls'), readToolCall);
}

function readToolCall(call: JsonObject, path: string): ToolCall {
  checkFunctionType(call, path);
  const called = requiredField(call, 'function', path, anObject);
  const calledPath = fieldPath(path, 'function');
  return {
    id: requiredField(call, 'id', path, aNonEmptyString),
    name: requiredField(called, 'name', calledPath, aNonEmptyString),
    arguments: optionalField(called, 'arguments', calledPath, aString) ?? '',
  };
}

/** The texts of a message that takes nothing else. */
function readTexts(message: JsonObject, path: string): readonly string[] {
  return requiredParts<TextPart>(message, path, readTextPart).map(({ text }) => text);
}

type PartReader<Part> = (type: string, part: JsonObject, path: string) => Part;

function requiredParts<Part>(
  message: JsonObject,
  path: string,
  readPart: PartReader<Part>,
): readonly (Part | TextPart)[] {
  const parts = readParts(message, path, readPart);
  if (parts === undefined) throw invalidField(fieldPath(path, 'content'), 'is required');
  return parts;
}

/** Undefined when the message has no content. */
function readParts<Part>(
  message: JsonObject,
  path: string,
  readPart: PartReader<Part>,
): readonly (Part | TextPart)[] | undefined {
  if (typeof message.content === 'string') return [{ type: 'text', text: message.content }];
  const parts = optionalField(message, 'content', path, aContentArray);
  if (parts === undefined) return undefined;
  return objectsOf(parts, fieldPath(path, 'content'), (part, partPath) =>
    readPart(requiredField(part, 'type', partPath, aString), part, partPath),
  );
}

const aContentArray = { ...anArray, noun: 'a string or an array of content parts' };

function readUserPart(type: string, part: JsonObject, path: string): UserPart {
  return type === 'image_url' ? readImagePart(part, path) : readTextPart(type, part, path);
}

function readAssistantPart(type: string, part: JsonObject, path: string): AssistantPart {
  if (type !== 'refusal') return readTextPart(type, part, path);
  return { type, text: requiredField(part, 'refusal', path, aString) };
}

function readTextPart(type: string, part: JsonObject, path: string): TextPart {
  if (type === 'text') return { type, text: requiredField(part, 'text', path, aString) };
  throw new GatewayError('unsupported_content', `${path} has the type ${quoted(type)}, which is not supported here`);
}

/** An `image_url` part. The URL is usually in an object; some clients send it as it is. */
function readImagePart(part: JsonObject, path: string): ImagePart {
  const imagePath = fieldPath(path, 'image_url');
  if (typeof part.image_url === 'string') return toImagePart(part.image_url, undefined, imagePath);
  const image = requiredField(part, 'image_url', path, anObject);
  const url = requiredField(image, 'url', imagePath, aNonEmptyString);
  return toImagePart(url, optionalField(image, 'detail', imagePath, aDetail), fieldPath(imagePath, 'url'));
}

const aDetail = oneOf(['auto', 'low', 'high', 'original']);

function toImagePart(url: string, detail: ImagePart['detail'], path: string): ImagePart {
  if (!/^(?:https?:\/\/.|data:.)/i.test(url)) throw invalidField(path, 'must be an http, https or data URL');
  return { type: 'image', url, detail };
}

function readIncludeUsage(request: JsonObject): boolean {
  const options = optionalField(request, 'stream_options', '', anObject);
  if (options === undefined) return false;
  return optionalField(options, 'include_usage', 'stream_options', aBoolean) ?? false;
}

function readMaxOutputTokens(request: JsonObject): number | undefined {
  const maxTokens = optionalField(request, 'max_tokens', '', aPositiveInteger);
  return optionalField(request, 'max_completion_tokens', '', aPositiveInteger) ?? maxTokens;
}

function readStop(request: JsonObject): readonly string[] {
  if (typeof request.stop === 'string') return [request.stop];
  const sequences = optionalField(request, 'stop', '', { ...anArray, noun: 'a string or an array of strings' }) ?? [];
  return sequences.map((sequence, index) => {
    if (typeof sequence !== 'string') throw invalidField(`stop[${index}]`, 'must be a string');
    return sequence;
  });
}

function readTools(request: JsonObject): readonly FunctionTool[] {
  const tools = optionalField(request, 'tools', '', anArray);
  return tools === undefined ? [] : objectsOf(tools, 'tools', readTool);
}

function readTool(tool: JsonObject, path: string): FunctionTool {
  checkFunctionType(tool, path);
  const definition = requiredField(tool, 'function', path, anObject);
  const definitionPath = fieldPath(path, 'function');
  return {
    name: requiredField(definition, 'name', definitionPath, aNonEmptyString),
    description: optionalField(definition, 'description', definitionPath, aString),
    parameters: optionalField(definition, 'parameters', definitionPath, anObject),
    strict: optionalField(definition, 'strict', definitionPath, aBoolean),
  };
}

/** Which tools the model must or may call. */
function readToolChoice(request: JsonObject): ToolChoice | undefined {
  const choice = request.tool_choice;
  if (!isObject(choice)) return optionalField(request, 'tool_choice', '', aChoice);
  checkFunctionType(choice, 'tool_choice');
  const chosen = requiredField(choice, 'function', 'tool_choice', anObject);
  return { functionName: requiredField(chosen, 'name', 'tool_choice.function', aNonEmptyString) };
}

const aChoice = {
  ...oneOf(['none', 'auto', 'required']),
  noun: 'none, auto, required, or an object that names a function',
};

/** Tools and tool calls are functions, also where the type is left out. */
function checkFunctionType(object: JsonObject, path: string): void {
  const type = optionalField(object, 'type', path, aString);
  if (type !== undefined && type !== 'function') throw invalidField(fieldPath(path, 'type'), 'must be "function"');
}

/** The form that the answer's text is to have; plain text when the field is absent. */
function readResponseFormat(request: JsonObject): ResponseFormat {
  const format = optionalField(request, 'response_format', '', anObject);
  if (format === undefined) return { type: 'text' };
  const type = requiredField(format, 'type', 'response_format', aFormatType);
  return type === 'json_schema' ? readJsonSchemaFormat(format) : { type };
}

const aFormatType = oneOf(['text', 'json_object', 'json_schema']);

function readJsonSchemaFormat(format: JsonObject): ResponseFormat {
  const path = 'response_format.json_schema';
  const definition = requiredField(format, 'json_schema', 'response_format', anObject);
  return {
    type: 'json_schema',
    name: requiredField(definition, 'name', path, aNonEmptyString),
    description: optionalField(definition, 'description', path, aString),
    schema: optionalField(definition, 'schema', path, anObject),
    strict: optionalField(definition, 'strict', path, aBoolean),
  };
}

const aReasoningEffort = oneOf(reasoningEfforts);

/** No parameter of this endpoint: what is not a text is ignored, as unknown parameters are. */
function readPromptCacheKey({ prompt_cache_key: key }: JsonObject): string | undefined {
  return typeof key === 'string' && key !== '' ? key : undefined;
}
