import type { ChatRequest, FunctionTool, ToolChoice } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import { convertToolSchema, maxOptionalProperties, toStructuredSchema } from './convert-schemas.ts';
import type { ModelFamily } from './model-families.ts';
import type { ProviderTool, ProviderToolChoice } from './provider-request.ts';

interface ToolSettings {
  readonly tools?: ProviderTool[];
  readonly toolChoice?: ProviderToolChoice | undefined;
  /** For a model that can't be forced to call a tool. */
  readonly instruction?: string;
}

/**
 * Converts tools and the choice among them. If the model's family refuses forced choices, the
 * choice becomes an instruction. `calledTools`: tools that the conversation used before. Throws
 * `invalid_request` for a name that the format does not allow or that two tools share, and for a
 * choice that is not a tool.
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
    tools: convertEach(offered, family),
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

function convertEach(tools: readonly FunctionTool[], family: ModelFamily): ProviderTool[] {
  const strict = family.structuredOutput ? tools.filter((tool) => tool.strict === true) : [];
  const schemas = new Map(strict.map((tool) => [tool, tool.parameters && toStructuredSchema(tool.parameters)]));
  const optional = [...schemas.values()].reduce((sum, schema) => sum + (schema?.optionalProperties ?? 0), 0);
  const mayBeStrict = strict.length <= maxStrictTools && optional <= maxOptionalProperties;
  return tools.map((tool) => {
    const schema = mayBeStrict ? schemas.get(tool)?.schema : undefined;
    const { name, description } = tool;
    const described = { name, ...(description !== undefined && { description }) };
    return schema === undefined
      ? { ...described, input_schema: convertToolSchema(name, tool.parameters) }
      : { ...described, input_schema: schema, strict: true };
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
