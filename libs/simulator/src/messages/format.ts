import type { ProviderFormat, ProviderRequest } from '../provider-format.ts';
import { messagesErrorBody, messagesErrorEvent } from './errors.ts';
import { messagesEvents } from './events.ts';
import { messageObject } from './message-object.ts';
import { readMessagesRequest } from './request.ts';

/** Of the system prompt that Messages accounts add to every request. */
const ownPromptTokens = 16;

/** The Messages format. @see https://docs.claude.com/en/api/messages */
export const messagesFormat: ProviderFormat = {
  name: 'messages',
  readConversation(request) {
    const conversation = readMessagesRequest(request, 'generate');
    return { ...conversation, inputTokens: conversation.inputTokens + ownPromptTokens };
  },
  events: messagesEvents,
  body: messageObject,
  errorBody: messagesErrorBody,
  errorEvent: messagesErrorEvent,
  failedEvent: (_answer, error) => messagesErrorEvent(error),
  headers: (requestId) => ({ 'request-id': requestId, 'anthropic-organization-id': 'simulated-organization' }),
};

/**
 * The input tokens of a Messages request, without the system prompt that accounts add.
 *
 * @throws {ProviderRefusal}
 * @see https://docs.claude.com/en/api/messages-count-tokens
 */
export function countInputTokens(request: ProviderRequest): number {
  return readMessagesRequest(request, 'count_tokens').inputTokens;
}
