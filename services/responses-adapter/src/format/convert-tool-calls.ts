import { hash } from 'node:crypto';
import type { ChatMessage, ToolCall } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import type { FunctionCallItem } from './provider-request.ts';

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
      throw mismatch(`messages[${index}].tool_call_id is the id of no tool call`);
    }
  }
}

function calledIds(message: ChatMessage): readonly string[] {
  return message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [];
}

function mismatch(complaint: string): GatewayError {
  return new GatewayError('invalid_request', `${complaint}: every call needs its result`);
}
