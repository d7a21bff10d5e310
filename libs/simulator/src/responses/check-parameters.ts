import { asArray, isObject, type JsonObject, objectsIn } from '@gateway/json';
import { verifyEncrypted } from '../answer/encrypted-reasoning.ts';
import { ProviderRefusal } from '../provider-format.ts';
import { invalidParameter, missingParameter, refusedDetail, unreadableContent } from './errors.ts';
import { requiredReasoningId } from './output-items.ts';

/** Which backend to play: the public API, or a subscription's, which takes fewer parameters and only streams. */
export type ResponsesBackend = 'api' | 'subscription';

/**
 * Checks everything of a Responses request but its input.
 *
 * @throws {ProviderRefusal}
 * @see https://platform.openai.com/docs/api-reference/responses/create
 */
export function checkParameters(body: JsonObject, models: readonly string[], backend: ResponsesBackend): void {
  if (backend === 'subscription') checkSubscription(body);
  checkNames(body);
  checkModel(body.model, models);
  checkState(body);
  checkSampling(body);
  checkNumbers(body);
  checkEffort(String(body.model), body.reasoning);
  checkTools(body.tools);
  checkToolChoice(body);
  checkFormat(body.text);
}

const knownParameters: ReadonlySet<string> = new Set([
  ...['access_programs', 'background', 'context_management', 'conversation', 'image', 'include', 'input'],
  ...['instructions', 'max_output_tokens', 'max_tool_calls', 'metadata', 'model', 'moderation', 'parallel_tool_calls'],
  ...['previous_response_id', 'prompt', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
  ...['reasoning', 'safety_identifier', 'service_tier', 'store', 'stream', 'stream_options', 'temperature', 'text'],
  ...['tool_choice', 'tools', 'top_logprobs', 'top_p', 'truncation', 'user'],
]);

function checkNames(body: JsonObject): void {
  const unknown = Object.keys(body).find((name) => !knownParameters.has(name));
  if (unknown !== undefined) throw invalidParameter(unknown, `Unknown parameter: '${unknown}'.`, 'unknown_parameter');
}

const refusedBySubscription = ['max_output_tokens', 'temperature', 'top_p', 'metadata', 'user', 'truncation'];

function checkSubscription(body: JsonObject): void {
  const refused = refusedBySubscription.find((name) => body[name] !== undefined);
  if (refused !== undefined) throw refusedDetail(`Unsupported parameter: ${refused}`);
  if (body.store !== false) throw refusedDetail('Store must be set to false');
  if (body.stream !== true) throw refusedDetail('Stream must be set to true');
  if (!Array.isArray(body.input)) throw refusedDetail('Input must be a list');
}

function checkModel(model: unknown, models: readonly string[]): void {
  if (model === undefined) throw missingParameter('model');
  if (typeof model === 'string' && models.includes(model)) return;
  throw new ProviderRefusal({
    status: 404,
    message: `The model \`${String(model)}\` does not exist or you do not have access to it.`,
    code: 'model_not_found',
    param: 'model',
  });
}

function checkState({ previous_response_id: previous }: JsonObject): void {
  if (typeof previous !== 'string') return;
  const message = `Previous response with id '${previous}' not found.`;
  throw invalidParameter('previous_response_id', message, 'previous_response_not_found');
}

function checkSampling(body: JsonObject): void {
  const sent = ['temperature', 'top_p'].find((name) => typeof body[name] === 'number');
  if (sent === undefined) return;
  const message = `Unsupported parameter: '${sent}' is not supported with this model.`;
  throw invalidParameter(sent, message, 'unsupported_parameter');
}

function checkNumbers(body: JsonObject): void {
  const limit = body.max_output_tokens;
  if (limit !== undefined && limit !== null && !(Number.isInteger(limit) && Number(limit) >= 1)) {
    throw invalidParameter('max_output_tokens', "Invalid 'max_output_tokens': expected an integer of at least 1.");
  }
  checkLength('prompt_cache_key', body.prompt_cache_key, 64);
}

/** @throws {ProviderRefusal} when a text is longer than the provider takes. */
export function checkLength(param: string, value: unknown, maximum: number): void {
  if (typeof value !== 'string' || value.length <= maximum) return;
  const message = `Invalid '${param}': string too long. Expected a string with maximum length ${maximum}, but got a string with length ${value.length} instead.`;
  throw invalidParameter(param, message, 'string_above_max_length');
}

function checkEffort(model: string, reasoning: unknown): void {
  const effort = isObject(reasoning) ? reasoning.effort : undefined;
  if (effort === undefined || effort === null) return;
  const supported = effortsOf(model);
  if (supported.includes(String(effort))) return;
  const values = supported.map((value) => `'${value}'`).join(', ');
  if (!allEfforts.includes(String(effort))) {
    throw invalidParameter('reasoning.effort', `Invalid value: '${effort}'. Supported values are: ${values}.`);
  }
  const message = `Unsupported value: '${effort}' is not supported with the '${model}' model. Supported values are: ${values}.`;
  throw invalidParameter('reasoning.effort', message, 'unsupported_value');
}

function checkTools(tools: unknown): void {
  for (const [index, tool] of objectsIn(tools).entries()) {
    if (tool.type === 'function') checkFunctionTool(tool, `tools[${index}]`);
    else if (typeof tool.type !== 'string') throw missingParameter(`tools[${index}].type`);
  }
}

function checkFunctionTool(tool: JsonObject, param: string): void {
  const { name, strict, parameters } = tool;
  if (typeof name !== 'string') throw missingParameter(`${param}.name`);
  checkName(`${param}.name`, name, 64);
  if (strict !== true || !isObject(parameters) || parameters.additionalProperties === false) return;
  const message = `Invalid schema for function '${name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`;
  throw invalidParameter(`${param}.parameters`, message, 'invalid_function_parameters');
}

function checkName(param: string, name: string, maximum: number): void {
  checkLength(param, name, maximum);
  if (/^[a-zA-Z0-9_-]+$/.test(name)) return;
  const message = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
  throw invalidParameter(param, message);
}

function checkToolChoice({ tool_choice: choice, tools }: JsonObject): void {
  const declared = asArray(tools);
  if (choice === 'required' && declared.length === 0) {
    const message = "Tool choice 'required' must be specified with 'tools' parameter.";
    throw invalidParameter('tool_choice', message);
  }
  if (typeof choice === 'string' && !['none', 'auto', 'required'].includes(choice)) {
    throw invalidParameter('tool_choice', `Invalid value: '${choice}'.`);
  }
  if (!isObject(choice) || choice.type !== 'function') return;
  if (typeof choice.name !== 'string') throw missingParameter('tool_choice.name');
  if (objectsIn(declared).some((tool) => tool.name === choice.name)) return;
  throw invalidParameter('tool_choice', `Tool choice '${choice.name}' not found in 'tools' parameter.`);
}

function checkFormat(text: unknown): void {
  const format = isObject(text) ? text.format : undefined;
  if (!isObject(format) || format.type !== 'json_schema') return;
  if (typeof format.name !== 'string') throw missingParameter('text.format.name');
  if (!isObject(format.schema)) throw missingParameter('text.format.schema');
  checkName('text.format.name', format.name, 64);
}

const efforts = {
  original: ['minimal', 'low', 'medium', 'high'],
  withNone: ['none', 'low', 'medium', 'high'],
  extended: ['none', 'low', 'medium', 'high', 'xhigh'],
  current: ['low', 'medium', 'high', 'xhigh', 'max'],
} as const;

/** The reasoning efforts that a model takes, by its generation; an id of another form takes all of them. */
export function effortsOf(model: string): readonly string[] {
  const version = /^gpt-(\d+)(?:\.(\d+))?/.exec(model);
  if (version === null) return allEfforts;
  const [major, minor] = [Number(version[1]), Number(version[2] ?? 0)];
  if (major >= 6 || (major === 5 && minor >= 6)) return efforts.current;
  if (major === 5 && minor >= 2) return efforts.extended;
  return major === 5 && minor === 1 ? efforts.withNone : efforts.original;
}

export const allEfforts: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * Checks the reasoning that comes back: the account can read what is encrypted, and no item has lost the reasoning it came after.
 *
 * @throws {ProviderRefusal}
 * @see https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items
 */
export function checkReasoning({ input }: JsonObject, account: string): void {
  const items = objectsIn(input);
  for (const item of items) checkEncrypted(item, account);
  for (const item of items) checkRequiredReasoning(item, items, account);
}

const encryptedTypes: ReadonlySet<unknown> = new Set(['reasoning', 'compaction']);

function checkEncrypted({ type, encrypted_content: encrypted }: JsonObject, account: string): void {
  if (!encryptedTypes.has(type) || typeof encrypted !== 'string') return;
  const verdict = verifyEncrypted(encrypted, { account });
  if (verdict !== 'accepted') throw new ProviderRefusal(unreadableContent(verdict));
}

function checkRequiredReasoning(
  { id, type = 'message' }: JsonObject,
  items: readonly JsonObject[],
  account: string,
): void {
  if (typeof id !== 'string' || (type !== 'message' && type !== 'function_call')) return;
  const required = requiredReasoningId(id);
  if (required === undefined || items.some((item) => isReasoning(item, required, account))) return;
  const message = `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${required}'.`;
  throw new ProviderRefusal({ status: 400, message, param: 'input' });
}

/** Clients may leave out the id of a reasoning item; then its encrypted content says which one it is. */
function isReasoning(item: JsonObject, id: string, account: string): boolean {
  if (item.type !== 'reasoning') return false;
  if (typeof item.id === 'string') return item.id === id;
  const encrypted = item.encrypted_content;
  return typeof encrypted === 'string' && verifyEncrypted(encrypted, { account, content: id }) === 'accepted';
}
