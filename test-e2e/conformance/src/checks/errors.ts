import { Found } from '../formats/found.ts';
import { messagesErrorTypes } from '../formats/messages-error-types.ts';
import { type Endpoint, isMessages } from '../target/endpoints.ts';
import type { Answer } from '../target/gateway-client.ts';
import { must } from '../verdict.ts';

/** @throws Violation unless the status is one of these. */
export function mustHaveStatus({ status }: Pick<Answer, 'status'>, ...statuses: readonly number[]): void {
  must(statuses.includes(status), `the status should be ${statuses.join(' or ')}; it is ${status}`);
}

/** @throws Violation with the body of the answer, unless its status is one of these. */
export function mustAnswerWith({ status, text }: Answer, ...statuses: readonly number[]): void {
  const isRight = statuses.includes(status);
  must(isRight, `the status should be ${statuses.join(' or ')}; it is ${status}: ${text.slice(0, 200)}`);
}

/**
 * @throws Violation unless the answer has one of these statuses and is an error in the endpoint's
 * format.
 */
export function mustBeError(endpoint: Endpoint, answer: Answer, statuses: readonly number[]): void {
  mustAnswerWith(answer, ...statuses);
  mustHaveErrorShape(endpoint, answer);
}

/**
 * The fields that SDKs read: an object `error` with a message, and on the Messages endpoints its
 * type.
 */
export function mustHaveErrorShape(endpoint: Endpoint, answer: Answer): void {
  const body = new Found(answer.json(), 'answer');
  void body.at('error', 'message').name;
  if (!isMessages(endpoint)) return;
  body.at('type').is('error');
  void body.at('error', 'type').name;
}

/** @throws Violation if the documentation of Messages gives the status another type. */
export function mustHaveDocumentedType(answer: Answer): void {
  const documented = messagesErrorTypes[answer.status];
  if (documented !== undefined) new Found(answer.json(), 'answer').at('error', 'type').is(documented);
}
