import { join } from 'node:path';
import { type RequestCase, readAnswerCases, readRequestCases } from '@gateway/testkit/adapters';
import { hi } from './provider-request.ts';

/** Every known shape of an answer, and what a chat client gets of it: `answers/`. */
export const answerCases = readAnswerCases(join(import.meta.dirname, 'answers'));

/** JSON can't express that the client omits the model, which the test adds to every other case. */
const withoutModel: RequestCase = {
  name: 'no model',
  request: { model: undefined, messages: hi },
  becomes: { refused: 'invalid_request', field: 'model' },
};

/** Every known shape of a chat request, and what it becomes: `requests/`. */
export const requestCases = [...readRequestCases(join(import.meta.dirname, 'requests')), withoutModel];
