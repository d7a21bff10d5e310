import { must } from '../check.ts';
import { Found } from '../formats/found.ts';
import type { Answer, Endpoint } from '../target/gateway-client.ts';

/** @throws Violation unless the answer has one of the statuses and is an error as the endpoint's format has it. */
export function mustBeError(endpoint: Endpoint, answer: Answer, statuses: readonly number[]): void {
  must(
    statuses.includes(answer.status),
    `the status should be ${statuses.join(' or ')}; it is ${answer.status}: ${answer.text.slice(0, 200)}`,
  );
  mustHaveErrorShape(endpoint, answer);
}

/** What SDKs read: an object `error` with a message, and on the Messages endpoints its type. */
export function mustHaveErrorShape(endpoint: Endpoint, answer: Answer): void {
  const body = new Found(answer.json(), 'answer');
  void body.at('error', 'message').name;
  if (endpoint !== 'messages' && endpoint !== 'count-tokens') return;
  body.at('type').is('error');
  void body.at('error', 'type').name;
}

/** The type that the documentation gives to a status of the Messages endpoints. */
export const messagesErrorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
};

/** @throws Violation where the documentation gives the status another type. */
export function mustHaveDocumentedType(answer: Answer): void {
  const documented = messagesErrorTypes[answer.status];
  if (documented !== undefined) new Found(answer.json(), 'answer').at('error', 'type').is(documented);
}
