import type { JsonObject } from '@gateway/json';
import type { ProviderError } from '../provider-request.ts';
import type { Answer, NamedEvent, SimulatedFormat } from '../simulated-format.ts';
import type { ResponsesBackend } from './check-request.ts';
import { readResponsesRequest } from './request.ts';
import { failedEvent, finalResponse, responseEvents } from './response.ts';

/** The Responses format. @see https://platform.openai.com/docs/api-reference/responses */
export function responsesFormat(backend: ResponsesBackend): SimulatedFormat {
  return {
    name: 'responses',
    readConversation: (request) => readResponsesRequest(request, backend),
    events: (answer) => responseEvents(backend === 'subscription' ? withEmptyFinalOutput(answer) : answer),
    body: finalResponse,
    errorBody: (error) => ({ error: errorObject(error) }),
    errorEvent,
    failedEvent,
    headers: (requestId) => ({
      'x-request-id': requestId,
      'openai-version': '2020-10-01',
      'openai-processing-ms': '1',
    }),
  };
}

function withEmptyFinalOutput({ faults, ...answer }: Answer): Answer {
  return { ...answer, faults: { ...faults, kinds: faults.kinds.union(new Set(['empty_output'] as const)) } };
}

/**
 * The flat `error` event.
 * @see https://platform.openai.com/docs/api-reference/responses-streaming/error
 */
function errorEvent(error: ProviderError, eventsBefore: number): NamedEvent {
  const { code, message, param } = errorObject(error);
  const data = JSON.stringify({ type: 'error', code, message, param, sequence_number: eventsBefore });
  return { name: 'error', data };
}

/** @see https://platform.openai.com/docs/guides/error-codes */
function errorObject({ status, type, code, message, param, extra }: ProviderError): JsonObject {
  return {
    message,
    type: type ?? typesOfStatuses[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error'),
    param: param ?? null,
    code: code ?? null,
    ...extra,
  };
}

const typesOfStatuses: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'invalid_request_error',
  403: 'invalid_request_error',
  404: 'invalid_request_error',
  429: 'rate_limit_exceeded',
};
