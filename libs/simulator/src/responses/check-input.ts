import { asArray, isObject, type JsonObject, objectsIn } from '@gateway/json';
import { ProviderRefusal } from '../provider-format.ts';
import { checkLength } from './check-parameters.ts';
import { invalidParameter, missingParameter, refusedDetail } from './errors.ts';

/**
 * Checks the input items: roles, content parts, and that calls and their outputs belong together.
 *
 * @throws {ProviderRefusal}
 */
export function checkInput(body: JsonObject): void {
  if (body.input === undefined) throw missingParameter('input');
  if (typeof body.input !== 'string' && !Array.isArray(body.input)) {
    throw invalidParameter('input', "Invalid type for 'input': expected one of an array of objects or string.");
  }
  for (const [index, item] of asArray(body.input).entries()) checkItem(item, `input[${index}]`);
  checkCalls(objectsIn(body.input));
  checkJsonIsMentioned(body);
}

const itemTypes: ReadonlySet<string> = new Set([
  ...['message', 'function_call', 'function_call_output', 'reasoning', 'item_reference', 'additional_tools'],
  ...['custom_tool_call', 'custom_tool_call_output', 'tool_search_call', 'tool_search_output', 'configuration_update'],
  ...['file_search_call', 'web_search_call', 'computer_call', 'computer_call_output', 'code_interpreter_call'],
  ...['image_generation_call', 'local_shell_call', 'local_shell_call_output', 'shell_call', 'shell_call_output'],
  ...['apply_patch_call', 'apply_patch_call_output', 'mcp_list_tools', 'mcp_approval_request', 'mcp_call'],
  ...['mcp_approval_response', 'compaction', 'compaction_trigger', 'program', 'program_output'],
]);

function checkItem(item: unknown, param: string): void {
  if (!isObject(item)) throw invalidParameter(param, `Invalid type for '${param}': expected an object.`);
  const type = item.type ?? 'message';
  if (typeof type !== 'string' || !itemTypes.has(type)) {
    throw invalidParameter(`${param}.type`, `Invalid value: '${String(type)}'.`);
  }
  if (type === 'message') checkMessage(item, param);
  if (type === 'item_reference') throw itemNotFound(String(item.id));
  if (type === 'function_call' || type === 'function_call_output') checkCallItem(item, type, param);
}

function itemNotFound(id: string): ProviderRefusal {
  return new ProviderRefusal({
    status: 404,
    message: `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    param: 'input',
  });
}

const partsOfRoles: Readonly<Record<string, readonly string[]>> = {
  user: ['input_text', 'input_image', 'input_file', 'input_audio'],
  developer: ['input_text', 'input_image', 'input_file'],
  assistant: ['output_text', 'refusal'],
};

function checkMessage({ role, content }: JsonObject, param: string): void {
  if (role === 'system') throw refusedDetail('System messages are not allowed');
  const allowed = typeof role === 'string' ? partsOfRoles[role] : undefined;
  if (allowed === undefined) {
    const message = `Invalid value: '${String(role)}'. Supported values are: 'assistant', 'developer', and 'user'.`;
    throw invalidParameter(`${param}.role`, message);
  }
  if (content === undefined) throw missingParameter(`${param}.content`);
  for (const [index, part] of asArray(content).entries()) checkPart(part, allowed, `${param}.content[${index}]`);
}

function checkPart(part: unknown, allowed: readonly string[], param: string): void {
  const type = isObject(part) ? part.type : undefined;
  if (!isObject(part) || typeof type !== 'string' || !allowed.includes(type)) {
    const values = allowed.map((value) => `'${value}'`).join(', ');
    throw invalidParameter(param, `Invalid value: '${String(type)}'. Supported values are: ${values}.`);
  }
  const needed = type === 'refusal' ? 'refusal' : type.endsWith('_text') ? 'text' : undefined;
  if (needed !== undefined && typeof part[needed] !== 'string') throw missingParameter(`${param}.${needed}`);
  if (type === 'input_image') checkImage(part, param);
}

function checkImage({ image_url: url, file_id: fileId }: JsonObject, param: string): void {
  if (url === undefined && fileId === undefined) throw missingParameter(`${param}.image_url`);
  if (url === undefined || url === null) return;
  if (typeof url !== 'string') {
    const message = `Invalid type for '${param}.image_url': expected an image URL, but got an object instead.`;
    throw invalidParameter(`${param}.image_url`, message, 'invalid_type');
  }
  if (!/^(https?:|data:image\/)/i.test(url)) {
    const message = `Invalid '${param}.image_url'. Expected a valid URL, but got a value with an invalid format.`;
    throw invalidParameter(`${param}.image_url`, message);
  }
}

function checkCallItem(item: JsonObject, type: 'function_call' | 'function_call_output', param: string): void {
  const needed = type === 'function_call' ? ['call_id', 'name', 'arguments'] : ['call_id', 'output'];
  const missing = needed.find((name) => item[name] === undefined);
  if (missing !== undefined) throw missingParameter(`${param}.${missing}`);
  checkLength(`${param}.call_id`, item.call_id, 64);
}

function checkCalls(items: readonly JsonObject[]): void {
  const calls = idsOf(items, 'function_call');
  const outputs = idsOf(items, 'function_call_output');
  const unanswered = [...calls].find((id) => !outputs.has(id));
  if (unanswered !== undefined) {
    throw invalidParameter('input', `No tool output found for function call ${unanswered}.`);
  }
  const uncalled = [...outputs].find((id) => !calls.has(id));
  if (uncalled !== undefined) {
    throw invalidParameter('input', `No tool call found for function call output with call_id ${uncalled}.`);
  }
}

function idsOf(items: readonly JsonObject[], type: string): ReadonlySet<string> {
  return new Set(items.filter((item) => item.type === type).map((item) => String(item.call_id)));
}

/** The provider looks for the word in the input only, not in the instructions. */
function checkJsonIsMentioned({ text, input }: JsonObject): void {
  const format = isObject(text) ? text.format : undefined;
  if (!isObject(format) || format.type !== 'json_object' || /json/i.test(JSON.stringify(input))) return;
  const message =
    "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.";
  throw invalidParameter('input', message);
}
