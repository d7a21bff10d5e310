import { hash } from 'node:crypto';
import type { ChatMessage, ChatRequest, FunctionTool, ToolCall, ToolChoice } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import type { FunctionCallItem, ResponsesTool, ResponsesToolChoice, ToolMembers } from './provider-request.ts';

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

/**
 * The arguments as the model wrote them, malformed or not; empty ones become those of a call
 * without parameters.
 */
export function convertToolCall(call: ToolCall): FunctionCallItem {
  const written = call.arguments === '' ? '{}' : call.arguments;
  return { type: 'function_call', call_id: convertToolId(call.id), name: call.name, arguments: written };
}

const maxCallIdLength = 64;

/**
 * Converts a tool call's id to one that the provider accepts: unchanged up to 64 characters,
 * otherwise a hash. Calls and their outputs both use this function, so that they still match. The
 * provider itself issues ids that it refuses to take back.
 */
export function convertToolId(id: string): string {
  if (id.length <= maxCallIdLength) return id;
  return `call_${hash('sha256', id, 'hex').slice(0, maxCallIdLength - 'call_'.length)}`;
}

/**
 * Throws `invalid_request` when a tool call has no result or a result no call, which the provider
 * refuses. Their order does not matter to it.
 */
export function checkToolCalls(messages: readonly ChatMessage[]): void {
  const called = new Set(messages.flatMap((message) => calledIds(message)));
  const answered = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
  for (const [index, message] of messages.entries()) {
    const unanswered = calledIds(message).findIndex((id) => !answered.has(id));
    if (unanswered >= 0) throw mismatch(`messages[${index}].tool_calls[${unanswered}].id has no tool message`);
    if (message.role === 'tool' && !called.has(message.toolCallId)) {
      throw mismatch(`messages[${index}].tool_call_id is not the id of a tool call`);
    }
  }
}

function calledIds(message: ChatMessage): readonly string[] {
  return message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [];
}

function mismatch(complaint: string): GatewayError {
  return new GatewayError('invalid_request', `${complaint}: every tool call needs a result`);
}
