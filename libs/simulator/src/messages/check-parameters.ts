import type { IncomingHttpHeaders } from 'node:http';
import { asArray, isObject, type JsonObject, objectsIn } from '@gateway/json';
import { verifyEncrypted } from '../answer/encrypted-reasoning.ts';
import { ProviderRefusal } from '../provider-format.ts';
import { invalidRequest, invalidSignature } from './errors.ts';
import { type ModelTraits, traitsOf } from './request.ts';

export interface ParameterRules {
  readonly headers: IncomingHttpHeaders;
  readonly models: readonly string[];
  /** Counting tokens needs no `max_tokens`. */
  readonly purpose: 'generate' | 'count_tokens';
}

/**
 * Checks everything of a Messages request but its messages.
 *
 * @throws {ProviderRefusal}
 * @see https://docs.claude.com/en/api/messages
 */
export function checkParameters(body: JsonObject, rules: ParameterRules): void {
  if (rules.headers['anthropic-version'] === undefined) throw invalidRequest('anthropic-version: header is required');
  checkNames(body, rules.headers['anthropic-beta'] !== undefined);
  checkModel(body.model, rules.models);
  const traits = traitsOf(String(body.model));
  if (rules.purpose === 'generate') checkMaximum(body, traits);
  checkSampling(body, traits);
  checkStopSequences(body.stop_sequences);
  checkSystem(body.system);
  checkTools(body.tools);
  checkToolChoice(body, traits);
  checkThinking(body, traits);
  checkOutputConfig(body, traits);
  checkBreakpoints(body);
}

const knownParameters: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'max_tokens', 'cache_control', 'container', 'diagnostics', 'inference_geo', 'metadata'],
  ...['output_config', 'service_tier', 'speed', 'stop_sequences', 'stream', 'system', 'temperature', 'thinking'],
  ...['tool_choice', 'tools', 'top_k', 'top_p', 'user_profile_id', 'workspace_id'],
]);

/** A beta header may bring members that are unknown here. */
function checkNames(body: JsonObject, beta: boolean): void {
  const unknown = beta ? undefined : Object.keys(body).find((name) => !knownParameters.has(name));
  if (unknown !== undefined) throw invalidRequest(`${unknown}: Extra inputs are not permitted`);
}

function checkModel(model: unknown, models: readonly string[]): void {
  if (model === undefined) throw invalidRequest('model: Field required');
  if (typeof model === 'string' && models.includes(model)) return;
  throw new ProviderRefusal({ status: 404, message: `model: ${String(model)}` });
}

function checkMaximum({ model, max_tokens: maximum }: JsonObject, { maximumTokens }: ModelTraits): void {
  if (maximum === undefined) throw invalidRequest('max_tokens: Field required');
  if (!Number.isInteger(maximum)) throw invalidRequest('max_tokens: Input should be a valid integer');
  if (Number(maximum) < 1) throw invalidRequest('max_tokens: Input should be greater than or equal to 1');
  if (Number(maximum) <= maximumTokens) return;
  throw invalidRequest(
    `max_tokens: ${maximum} > ${maximumTokens}, which is the maximum allowed number of output tokens for ${model}`,
  );
}

function checkSampling(body: JsonObject, { sampling }: ModelTraits): void {
  const sent = ['temperature', 'top_p', 'top_k'].find((name) => body[name] !== undefined);
  if (sent !== undefined && !sampling) throw invalidRequest(`\`${sent}\` is not supported for this model.`);
}

function checkStopSequences(sequences: unknown): void {
  if (asArray(sequences).every((sequence) => typeof sequence === 'string' && /\S/.test(sequence))) return;
  throw invalidRequest('stop_sequences: each stop sequence must contain non-whitespace');
}

function checkSystem(system: unknown): void {
  if (system === undefined || typeof system === 'string') return;
  if (!Array.isArray(system)) throw invalidRequest('system: Input should be a valid list');
  const empty = objectsIn(system).some((block) => block.type === 'text' && block.text === '');
  if (empty) throw invalidRequest('system: text content blocks must be non-empty');
}

function checkTools(tools: unknown): void {
  const names = new Set<unknown>();
  for (const [index, tool] of objectsIn(tools).entries()) {
    checkTool(tool, `tools.${index}`);
    if (names.has(tool.name)) throw invalidRequest('tools: Tool names must be unique.');
    names.add(tool.name);
  }
}

/** Tools of the provider's own have a type and a schema of their own. */
function checkTool(tool: JsonObject, path: string): void {
  if (tool.type !== undefined && tool.type !== 'custom') return;
  const { name, input_schema: schema } = tool;
  if (typeof name !== 'string') throw invalidRequest(`${path}.custom.name: Field required`);
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
    throw invalidRequest(`${path}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
  }
  if (!isObject(schema)) throw invalidRequest(`${path}.custom.input_schema: Field required`);
  const combination = ['oneOf', 'anyOf', 'allOf'].some((keyword) => keyword in schema);
  if (combination) {
    const problem = 'input_schema does not support oneOf, allOf, or anyOf at the top level';
    throw invalidRequest(`${path}.custom.input_schema: ${problem}`);
  }
  if (schema.type !== 'object') throw invalidRequest(`${path}.custom.input_schema.type: Field required`);
}

function checkToolChoice({ tool_choice: choice, tools }: JsonObject, { forcedTools }: ModelTraits): void {
  if (!isObject(choice)) return;
  const declared = objectsIn(tools);
  if (declared.length === 0) throw invalidRequest('tool_choice may only be specified while providing tools');
  const forced = choice.type === 'any' || choice.type === 'tool';
  if (forced && !forcedTools) {
    throw invalidRequest('tool_choice: type "tool" and "any" are not supported for this model.');
  }
  if (choice.type === 'none' && choice.disable_parallel_tool_use !== undefined) {
    throw invalidRequest('tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted');
  }
  if (choice.type === 'tool' && !declared.some((tool) => tool.name === choice.name)) {
    throw invalidRequest(`Tool '${choice.name}' not found in provided tools`);
  }
}

function checkThinking({ thinking, max_tokens, tool_choice }: JsonObject, traits: ModelTraits): void {
  if (!isObject(thinking)) return;
  const { type, budget_tokens: budget } = thinking;
  if (type === 'adaptive' && !traits.adaptiveThinking) {
    throw invalidRequest('adaptive thinking is not supported on this model');
  }
  if (type === 'disabled' && !traits.thinkingCanBeDisabled) {
    throw invalidRequest('thinking.type: "disabled" is not supported for this model.');
  }
  if (type !== 'enabled') return;
  if (!traits.budgetThinking) throw invalidRequest('thinking.type: "enabled" is not supported for this model.');
  if (!(Number(budget) >= 1024)) {
    throw invalidRequest('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  }
  if (max_tokens !== undefined && Number(max_tokens) <= Number(budget)) {
    throw invalidRequest('`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
  if (isObject(tool_choice) && (tool_choice.type === 'any' || tool_choice.type === 'tool')) {
    throw invalidRequest('Thinking may not be enabled when tool_choice forces tool use.');
  }
}

function checkOutputConfig({ output_config: config }: JsonObject, { efforts }: ModelTraits): void {
  if (!isObject(config)) return;
  const { effort, format } = config;
  if (effort !== undefined && effort !== null && !efforts.includes(String(effort))) {
    throw invalidRequest(
      efforts.length === 0
        ? 'This model does not support the effort parameter.'
        : `output_config.effort: Input should be ${efforts.map((value) => `'${value}'`).join(', ')}`,
    );
  }
  if (!isObject(format)) return;
  if (format.type !== 'json_schema') throw invalidRequest("output_config.format.type: Input should be 'json_schema'");
  if (!isObject(format.schema)) throw invalidRequest('output_config.format.json_schema.schema: Field required');
  checkOutputSchema(format.schema);
}

const maximumBreakpoints = 4;

function checkBreakpoints(body: JsonObject): void {
  const blocks = [
    ...objectsIn(body.tools),
    ...objectsIn(body.system),
    ...objectsIn(body.messages).flatMap((message) => objectsIn(message.content)),
  ];
  const found = blocks.filter((block) => isObject(block.cache_control)).length;
  if (found <= maximumBreakpoints) return;
  throw invalidRequest(`A maximum of ${maximumBreakpoints} blocks with cache_control may be provided. Found ${found}.`);
}

const refusedKeywords = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['maxItems', 'uniqueItems', 'not', 'oneOf', 'patternProperties'],
];

/**
 * Checks that a schema is of the subset that structured outputs take.
 *
 * @throws {ProviderRefusal}
 * @see https://docs.claude.com/en/docs/build-with-claude/structured-outputs
 */
export function checkOutputSchema(schema: JsonObject): void {
  const refused = refusedKeywords.find((keyword) => keyword in schema);
  if (refused !== undefined) {
    throw schemaProblem(`For '${String(schema.type)}' type, property '${refused}' is not supported`);
  }
  if (schema.type === 'object' && schema.additionalProperties !== false) {
    throw schemaProblem("For 'object' type, 'additionalProperties' must be explicitly set to false");
  }
  for (const child of childrenOf(schema)) checkOutputSchema(child);
}

function childrenOf(schema: JsonObject): readonly JsonObject[] {
  const named = [schema.properties, schema.$defs, schema.definitions].filter(isObject).flatMap(Object.values);
  const combined = [schema.anyOf, schema.allOf].flat();
  return [schema.items, ...named, ...combined].filter(isObject);
}

function schemaProblem(problem: string) {
  return invalidRequest(`output_config.format.schema: ${problem}`);
}

/**
 * Checks that the thinking that comes back with earlier answers is as it was. Which account it was made for does not
 * matter: the provider's signatures are valid wherever its models run.
 *
 * @throws {ProviderRefusal}
 * @see https://docs.claude.com/en/docs/build-with-claude/extended-thinking
 */
export function checkEarlierThinking(messages: unknown, account: string): void {
  for (const [index, { role, content }] of objectsIn(messages).entries()) {
    if (role !== 'assistant') continue;
    for (const [position, block] of objectsIn(content).entries()) {
      checkBlock(block, `messages.${index}.content.${position}`, account);
    }
  }
}

function checkBlock(block: JsonObject, path: string, account: string): void {
  if (block.type === 'thinking') checkEncrypted(block, { path, account, member: 'signature', content: block.thinking });
  if (block.type === 'redacted_thinking') checkEncrypted(block, { path, account, member: 'data', content: '' });
}

interface EncryptedPlace {
  readonly path: string;
  readonly account: string;
  readonly member: 'signature' | 'data';
  readonly content: unknown;
}

function checkEncrypted(block: JsonObject, { path, account, member, content }: EncryptedPlace): void {
  const encrypted = block[member];
  if (typeof encrypted !== 'string') return;
  const verdict = verifyEncrypted(encrypted, { account, content: String(content) });
  if (verdict === 'altered' || verdict === 'damaged') throw invalidSignature(path, member);
}
