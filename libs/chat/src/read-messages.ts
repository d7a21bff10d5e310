import {
  aNonEmptyString,
  anArray,
  aString,
  fieldPath,
  invalidField,
  isObject,
  type JsonObject,
  objectsOf,
  oneOf,
  optionalField,
  requiredField,
} from './json-fields.ts';
import { readAssistantParts, readText, readUserParts } from './read-content.ts';
import { readToolCalls } from './read-tool-calls.ts';
import type { AssistantMessage, AssistantPart, ChatMessage } from './request.ts';

/** The conversation. @see spec "Request message (chat completions)" */
export function readMessages(request: JsonObject): readonly ChatMessage[] {
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
      return { role: 'system', text: readText(message, path) };
    case 'user':
      return { role, parts: readUserParts(message, path) };
    case 'assistant':
      return readAssistantMessage(message, path);
    case 'tool':
      return {
        role,
        toolCallId: requiredField(message, 'tool_call_id', path, aNonEmptyString),
        text: readText(message, path),
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
  const content = readAssistantParts(message, path);
  const isSilent = content === undefined && toolCalls.length === 0 && refusal === undefined;
  if (isSilent && isObject(message.function_call)) {
    throw invalidField(fieldPath(path, 'content'), 'is required');
  }
  const parts: readonly AssistantPart[] = content ?? [];
  return {
    role: 'assistant',
    parts: refusal === undefined ? parts : [...parts, { type: 'refusal', text: refusal }],
    toolCalls,
  };
}
