import { sumTokens } from '../answer/prompt-cache.ts';
import type { ProviderFormat, ProviderRequest } from '../provider-format.ts';
import { messagesErrorBody, messagesErrorEvent } from './errors.ts';
import { messagesEvents } from './events.ts';
import { messageObject } from './message-object.ts';
import { readMessagesRequest } from './request.ts';

/** The Messages format. @see https://docs.claude.com/en/api/messages */
export const messagesFormat: ProviderFormat = {
  name: 'messages',
  readConversation: (request) => readMessagesRequest(request, 'generate'),
  events: messagesEvents,
  body: messageObject,
  errorBody: messagesErrorBody,
  errorEvent: messagesErrorEvent,
  failedEvent: (_answer, error) => messagesErrorEvent(error),
  headers: (requestId) => ({ 'request-id': requestId, 'anthropic-organization-id': 'simulated-organization' }),
};

/**
 * The input tokens of a Messages request, without the system prompt that a subscription account adds.
 *
 * @throws {ProviderRefusal}
 * @see https://docs.claude.com/en/api/messages-count-tokens
 */
export function countInputTokens(request: ProviderRequest): number {
  return sumTokens(readMessagesRequest(request, 'count_tokens').input);
}
