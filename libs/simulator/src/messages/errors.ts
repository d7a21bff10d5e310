import type { JsonObject } from '@gateway/json';
import { type NamedEvent, type ProviderError, ProviderRefusal } from '../provider-format.ts';

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

/** @see https://docs.claude.com/en/api/errors */
export function messagesErrorBody(error: ProviderError, requestId: string): JsonObject {
  return { type: 'error', error: errorObject(error), request_id: requestId };
}

export function messagesErrorEvent(error: ProviderError): NamedEvent {
  return { name: 'error', data: JSON.stringify({ type: 'error', error: errorObject(error) }) };
}

export function invalidRequest(message: string): ProviderRefusal {
  return new ProviderRefusal({ status: 400, message });
}

/** Thinking that is not as it was. */
export function invalidSignature(path: string): ProviderRefusal {
  return invalidRequest(`${path}: Invalid \`signature\` in \`thinking\` block`);
}

function errorObject({ status, type, message, extra }: ProviderError): JsonObject {
  return { type: type ?? typesOfStatuses[status] ?? 'api_error', message, ...extra };
}
