import { hash } from 'node:crypto';
import type { ChatRequest, FunctionTool, ToolChoice } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import { asObject, type JsonObject } from '@gateway/json';
import { convertToolSchema, maxOptionalProperties, toStructuredSchema } from './convert-schemas.ts';
import type { ModelFamily } from './model-families.ts';
import type { ProviderTool, ProviderToolChoice, ToolSchema } from './provider-request.ts';

interface ToolSettings {
  readonly tools?: ProviderTool[];
  readonly toolChoice?: ProviderToolChoice | undefined;
  /** For a model that can't be forced to call a tool. */
  readonly instruction?: string;
}

/**
 * Converts tools and the choice among them. If the model's family refuses forced choices, the
 * choice becomes an instruction. `calledTools`: tools that the conversation used before. Throws
 * `invalid_request` for a name of a tool or a property that the format does not allow, for a name
 * that two tools share, and for a choice that is not a tool.
 *
 * @see https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
 */
export function convertTools(
  request: Pick<ChatRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'>,
  family: ModelFamily,
  calledTools: ReadonlySet<string>,
): ToolSettings {
  if (request.tools.length === 0) return standInTools(calledTools);
  checkNames(request.tools);
  const choice = request.toolChoice ?? 'auto';
  requireKnownTool(choice, request.tools);
  const oneAtATime = request.parallelToolCalls === false;
  if (isForced(choice) && !family.forcedToolChoice) return persuade(choice, request.tools, family, oneAtATime);
  return { tools: convertEach(request.tools, family), toolChoice: convertChoice(choice, oneAtATime) };
}

/**
 * A conversation with tool calls must declare tools: these are the ones it names, none of which may
 * be called again.
 */
function standInTools(calledTools: ReadonlySet<string>): ToolSettings {
  if (calledTools.size === 0) return {};
  const tools = [...calledTools].map((name) => ({ name, input_schema: convertToolSchema(name, undefined) }));
  return { tools, toolChoice: { type: 'none' } };
}

type ForcedChoice = Exclude<ToolChoice, 'none' | 'auto'>;

/** Whether the choice forces the model to call a tool. */
function isForced(choice: ToolChoice): choice is ForcedChoice {
  return choice === 'required' || typeof choice === 'object';
}

function persuade(
  choice: ForcedChoice,
  tools: readonly FunctionTool[],
  family: ModelFamily,
  oneAtATime: boolean,
): ToolSettings {
  const offered = typeof choice === 'object' ? tools.filter(({ name }) => name === choice.functionName) : tools;
  return {
    tools: convertEach(tools, family, offered),
    toolChoice: convertChoice('auto', oneAtATime),
    instruction:
      typeof choice === 'object'
        ? `Your next answer must be a call of the tool "${choice.functionName}".`
        : 'Your next answer must call at least one of the tools.',
  };
}

function convertChoice(choice: ToolChoice, oneAtATime: boolean): ProviderToolChoice | undefined {
  const parallel = oneAtATime ? { disable_parallel_tool_use: true as const } : {};
  if (choice === 'none') return { type: 'none' };
  if (choice === 'auto') return oneAtATime ? { type: 'auto', ...parallel } : undefined;
  if (choice === 'required') return { type: 'any', ...parallel };
  return { type: 'tool', name: choice.functionName, ...parallel };
}

/** The maximum number of strict tools in one request. */
const maxStrictTools = 20;

/** @param offered those of the request's tools that the model may call */
function convertEach(tools: readonly FunctionTool[], family: ModelFamily, offered = tools): ProviderTool[] {
  const strict = family.structuredOutput ? offered.filter((tool) => tool.strict === true) : [];
  const schemas = new Map(strict.map((tool) => [tool, tool.parameters && toStructuredSchema(tool.parameters)]));
  const optional = [...schemas.values()].reduce((sum, schema) => sum + (schema?.optionalProperties ?? 0), 0);
  const mayBeStrict = strict.length <= maxStrictTools && optional <= maxOptionalProperties;
  return offered.map((tool) => {
    const strictSchema = mayBeStrict ? schemas.get(tool)?.schema : undefined;
    const { name, description } = tool;
    const described = { name, ...(description !== undefined && { description }) };
    const input_schema = strictSchema ?? convertToolSchema(name, tool.parameters);
    checkPropertyNames(input_schema, `tools[${tools.indexOf(tool)}].function.parameters.properties`);
    return { ...described, input_schema, ...(strictSchema && { strict: true }) };
  });
}

function checkNames(tools: readonly FunctionTool[]): void {
  const names = new Set<string>();
  for (const [index, { name }] of tools.entries()) {
    const field = `tools[${index}].function.name`;
    checkName(name, field);
    if (names.has(name)) throw new GatewayError('invalid_request', `${field} must not be the name of another tool`);
    names.add(name);
  }
}

function requireKnownTool(choice: ToolChoice, tools: readonly FunctionTool[]): void {
  if (typeof choice !== 'object' || tools.some(({ name }) => name === choice.functionName)) return;
  throw new GatewayError('invalid_request', 'tool_choice.function.name must be the name of one of the tools');
}

/**
 * Throws `invalid_request` for a name that the format does not allow for a tool. `path` is its path
 * in the request.
 * @see https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
 */
export function checkName(name: string, path: string): void {
  if (/^[a-zA-Z0-9_-]{1,128}$/.test(name)) return;
  throw new GatewayError('invalid_request', `${path} must be 1 to 128 letters, digits, underscores and dashes`);
}

/**
 * Throws `invalid_request` for a property that the format does not allow: it checks those of the
 * arguments themselves, not those within them.
 */
function checkPropertyNames({ properties }: ToolSchema, path: string): void {
  if (Object.keys(properties ?? {}).every((name) => /^[a-zA-Z0-9_.-]{1,64}$/.test(name))) return;
  const rule = 'must have names of 1 to 64 letters, digits, underscores, dots and dashes';
  throw new GatewayError('invalid_request', `${path} ${rule}`);
}

/**
 * Converts a tool call's id to the alphabet and length that the Messages format allows. Valid ids
 * stay as they are; others keep a readable start and get a digest of the whole, so that different
 * ids stay different. The same input always gives the same id.
 */
export function convertToolId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return id;
  const digest = hash('sha256', id, 'hex').slice(0, 16);
  return `${id.slice(0, 47).replace(/[^a-zA-Z0-9_-]/g, '_')}_${digest}`;
}

/**
 * The ids of one conversation. Calls must have unique ids throughout a Messages conversation, while
 * chat clients may start numbering again in every turn: a repeated id gets a new one, and so does
 * its result.
 */
export class ConversationToolIds {
  readonly #taken = new Set<string>();
  readonly #callsOf = new Map<string, Calls>();
  #unanswered = 0;

  /** The id for a call. */
  call(clientId: string): string {
    const calls = this.#callsOf.getOrInsertComputed(clientId, () => ({ ids: [], answered: 0 }));
    const id = this.#unusedId(clientId, calls.ids.length);
    this.#taken.add(id);
    calls.ids.push(id);
    this.#unanswered += 1;
    return id;
  }

  /**
   * The id for a call's result: that of the first call with this id that has no result yet.
   * Undefined when there is no such call.
   */
  result(clientId: string): string | undefined {
    const calls = this.#callsOf.get(clientId);
    const id = calls?.ids[calls.answered];
    if (calls === undefined || id === undefined) return undefined;
    calls.answered += 1;
    this.#unanswered -= 1;
    return id;
  }

  get hasUnanswered(): boolean {
    return this.#unanswered > 0;
  }

  #unusedId(clientId: string, usesBefore: number): string {
    let uses = usesBefore;
    let id = uses === 0 ? convertToolId(clientId) : convertToolId(`${clientId}#${uses}`);
    while (this.#taken.has(id)) id = convertToolId(`${clientId}#${++uses}`);
    return id;
  }
}

interface Calls {
  /** Provider ids in the order of the calls. */
  readonly ids: string[];
  answered: number;
}

/**
 * The maximum depth of nested arrays and objects; no provider reads deeper ones, and they could not
 * be serialised again.
 */
const mostLevels = 200;

/**
 * Parses a tool call's arguments to the object that `tool_use.input` must be. Models sometimes
 * write malformed JSON: text that is not an object, or is nested too deeply, is sent as a string
 * under a name of its own.
 */
export function readToolArguments(text: string): JsonObject {
  if (text.trim() === '') return {};
  // Checked first, because JavaScript represents a lone number with kept digits as an object.
  const value = /^\s*\{/.test(text) ? parseKeepingDigits(text) : undefined;
  const input = asObject(value);
  return input === undefined || isDeeper(input, mostLevels) ? { _arguments: text } : input;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

// Standard, but not yet in TypeScript's library.
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): unknown;
  }
}

function parseKeepingDigits(text: string): unknown {
  try {
    return mayHoldInexactNumber.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const mayHoldInexactNumber = /\d{16}|\d[eE.]|-0/;

/**
 * A long id that a model wrote must return to it digit by digit, which a JavaScript number can't
 * guarantee.
 */
function keepDigits(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return JSON.rawJSON(source);
}
