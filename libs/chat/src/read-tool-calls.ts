import {
  aNonEmptyString,
  anArray,
  anObject,
  aString,
  fieldPath,
  type JsonObject,
  objectsOf,
  optionalField,
  requiredField,
} from './json-fields.ts';
import { checkFunctionType } from './read-tools.ts';
import type { ToolCall } from './request.ts';

/** The tool calls of an assistant message; none when the field is absent. */
export function readToolCalls(message: JsonObject, path: string): readonly ToolCall[] {
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
