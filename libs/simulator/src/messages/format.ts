import type { JsonObject } from '@gateway/json';
import type { ProviderError, ProviderRequest } from '../provider-request.ts';
import type { NamedEvent, SimulatedFormat } from '../simulated-format.ts';
import { messageEvents, messageObject } from './message.ts';
import { readMessagesRequest } from './request.ts';

/** The Messages format. @see https://docs.claude.com/en/api/messages */
export const messagesFormat: SimulatedFormat = {
  name: 'messages',
  readConversation(request) {
    const conversation = readMessagesRequest(request, 'generate');
    return { ...conversation, inputTokens: conversation.inputTokens + ownPromptTokens };
  },
  events: messageEvents,
  body: messageObject,
  errorBody: (error, requestId) => ({ type: 'error', error: errorObject(error), request_id: requestId }),
  errorEvent,
  failedEvent: (_answer, error) => errorEvent(error),
  headers: (requestId) => ({ 'request-id': requestId, 'anthropic-organization-id': 'simulated-organization' }),
};

/** The tokens of the system prompt that Messages accounts add to every request. */
const ownPromptTokens = 16;

/**
 * The input tokens of a Messages request, without the system prompt that accounts add.
 *
 * @throws {ProviderRefusal}
 * @see https://docs.claude.com/en/api/messages-count-tokens
 */
export function countInputTokens(request: ProviderRequest): number {
  return readMessagesRequest(request, 'count_tokens').inputTokens;
}

function errorEvent(error: ProviderError): NamedEvent {
  return { name: 'error', data: JSON.stringify({ type: 'error', error: errorObject(error) }) };
}

/** @see https://docs.claude.com/en/api/errors */
function errorObject({ status, type, message, extra }: ProviderError): JsonObject {
  return { type: type ?? typesOfStatuses[status] ?? 'api_error', message, ...extra };
}

const typesOfStatuses: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};
