import type { JsonObject } from '@gateway/json';
import type { Verdict } from '../answer/encrypted-reasoning.ts';
import { type NamedEvent, type ProviderError, ProviderRefusal } from '../provider-format.ts';

const typesOfStatuses: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'invalid_request_error',
  403: 'invalid_request_error',
  404: 'invalid_request_error',
  429: 'rate_limit_exceeded',
};

/** @see https://platform.openai.com/docs/guides/error-codes */
export function responsesErrorBody(error: ProviderError): JsonObject {
  return { error: errorObject(error) };
}

/** The flat `error` event. @see https://platform.openai.com/docs/api-reference/responses-streaming/error */
export function responsesErrorEvent(error: ProviderError, eventsBefore: number): NamedEvent {
  const { code, message, param } = errorObject(error);
  return {
    name: 'error',
    data: JSON.stringify({ type: 'error', code, message, param, sequence_number: eventsBefore }),
  };
}

/** A 400 that names the parameter. */
export function invalidParameter(param: string, message: string, code = 'invalid_value'): ProviderRefusal {
  return new ProviderRefusal({ status: 400, message, param, code });
}

export function missingParameter(param: string): ProviderRefusal {
  return invalidParameter(param, `Missing required parameter: '${param}'.`, 'missing_required_parameter');
}

/** The short body with which a subscription backend refuses what it does not take. */
export function refusedDetail(detail: string): ProviderRefusal {
  return new ProviderRefusal({ status: 400, message: detail }, { detail });
}

/** Encrypted content that the account can't read: it was made for another one, or is broken. */
export function unreadableContent(verdict: Exclude<Verdict, 'accepted'>): ProviderError {
  const reason =
    verdict === 'other_account'
      ? 'Encrypted content organization_id did not match the target organization.'
      : 'Encrypted content could not be decrypted or parsed.';
  return {
    status: 400,
    code: 'invalid_encrypted_content',
    message: `The encrypted content gAAA... could not be verified. Reason: ${reason}`,
  };
}

function errorObject({ status, type, code, message, param, extra }: ProviderError): JsonObject {
  return {
    message,
    type: type ?? typesOfStatuses[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error'),
    param: param ?? null,
    code: code ?? null,
    ...extra,
  };
}
