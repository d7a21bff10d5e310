import {
  aBoolean,
  aNonEmptyString,
  anArray,
  anObject,
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
import type { FunctionTool, ToolChoice } from './request.ts';

/** The function tools that the model may call; none when the field is absent. */
export function readTools(request: JsonObject): readonly FunctionTool[] {
  const tools = optionalField(request, 'tools', '', anArray);
  return tools === undefined ? [] : objectsOf(tools, 'tools', readTool);
}

/** Which tools the model must or may call. */
export function readToolChoice(request: JsonObject): ToolChoice | undefined {
  const choice = request.tool_choice;
  if (!isObject(choice)) return optionalField(request, 'tool_choice', '', aChoice);
  checkFunctionType(choice, 'tool_choice');
  const chosen = requiredField(choice, 'function', 'tool_choice', anObject);
  return { functionName: requiredField(chosen, 'name', 'tool_choice.function', aNonEmptyString) };
}

/** Tools and tool calls are functions; a type that is left out means so. */
export function checkFunctionType(object: JsonObject, path: string): void {
  const type = optionalField(object, 'type', path, aString);
  if (type !== undefined && type !== 'function') throw invalidField(fieldPath(path, 'type'), 'must be "function"');
}

const aChoice = {
  ...oneOf(['none', 'auto', 'required']),
  noun: 'none, auto, required, or an object that names a function',
};

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
