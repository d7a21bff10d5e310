import type { ChatRequest, FunctionTool, ToolChoice } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import type { ResponsesTool, ResponsesToolChoice, ToolMembers } from './provider-request.ts';

/**
 * Converts the tools and how they may be called. Without tools the provider refuses the other two
 * members, so they are left out. Throws `invalid_request` for a name that no tool may have, and for
 * a choice that is not one of the tools.
 */
export function convertTools({ tools, toolChoice, parallelToolCalls }: ChatRequest): ToolMembers {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(convertTool),
    tool_choice: toolChoice === undefined ? undefined : convertToolChoice(toolChoice, tools),
    parallel_tool_calls: parallelToolCalls,
  };
}

/** `strict` is always sent: if it is absent, chat means false, but Responses would try true. */
function convertTool({ name, description, parameters, strict = false }: FunctionTool, index: number): ResponsesTool {
  checkName(name, `tools[${index}].function.name`);
  const described = { name, ...(description !== undefined && { description }) };
  return { type: 'function', ...described, parameters: parameters ?? noParameters(strict), strict };
}

/**
 * The schema of a function without parameters; strict mode refuses one that allows additional
 * properties.
 */
function noParameters(strict: boolean): Readonly<Record<string, unknown>> {
  const schema = { type: 'object', properties: {} };
  return strict ? { ...schema, required: [], additionalProperties: false } : schema;
}

function convertToolChoice(choice: ToolChoice, tools: readonly FunctionTool[]): ResponsesToolChoice {
  if (typeof choice === 'string') return choice;
  const { functionName } = choice;
  if (tools.some(({ name }) => name === functionName)) return { type: 'function', name: functionName };
  throw new GatewayError('invalid_request', 'tool_choice.function.name must be the name of one of the tools');
}

/**
 * Throws `invalid_request` for a name that neither format allows for a function or a schema. `path`
 * names it in the error.
 * @see https://platform.openai.com/docs/api-reference/chat/create
 */
export function checkName(name: string, path: string): void {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return;
  const rule = 'must be 1 to 64 letters, digits, underscores and dashes';
  throw new GatewayError('invalid_request', `${path} ${rule}`);
}
