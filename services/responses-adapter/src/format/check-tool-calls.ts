import type { ChatMessage } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';

/**
 * Throws `invalid_request` when a tool call has no result or a result no call, which the provider refuses; where in the
 * conversation the other one stands does not matter to it.
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
