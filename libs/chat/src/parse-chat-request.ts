import { GatewayError } from '@gateway/errors';
import {
  aBoolean,
  aNonEmptyString,
  aNumber,
  anArray,
  anObject,
  aPositiveInteger,
  invalidField,
  isObject,
  type JsonObject,
  oneOf,
  optionalField,
  requiredField,
} from './json-fields.ts';
import { readMessages } from './read-messages.ts';
import { readResponseFormat } from './read-response-format.ts';
import { readToolChoice, readTools } from './read-tools.ts';
import { type ChatRequest, reasoningEfforts } from './request.ts';

/**
 * Parses and checks the body of a chat-completions request. Throws `invalid_json` for what is not JSON in UTF-8,
 * `unsupported_content` for content parts that the endpoint does not take, and `invalid_request` for everything else,
 * with the path of the field.
 * @see spec "POST /v1/chat/completions"
 */
export function parseChatRequest(body: Uint8Array): ChatRequest {
  const request = parseJson(body);
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

function parseJson(body: Uint8Array): unknown {
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
  const { stop } = request;
  if (typeof stop === 'string') return [stop];
  const sequences = optionalField(request, 'stop', '', { ...anArray, noun: 'a string or an array of strings' }) ?? [];
  return sequences.map((sequence, index) => {
    if (typeof sequence !== 'string') throw invalidField(`stop[${index}]`, 'must be a string');
    return sequence;
  });
}

const aReasoningEffort = oneOf(reasoningEfforts);

/** No parameter of this endpoint: what is not a text is ignored, as unknown parameters are. */
function readPromptCacheKey({ prompt_cache_key: key }: JsonObject): string | undefined {
  return typeof key === 'string' && key !== '' ? key : undefined;
}
