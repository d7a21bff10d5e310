import { join } from 'node:path';
import { type RequestCase, readAnswerCases, readRequestCases } from '@gateway/testkit/adapters';
import { hi } from './provider-request.ts';

/** Every known shape of an answer, and what a chat client gets of it: `answers/`. */
export const answerCases = readAnswerCases(join(import.meta.dirname, 'answers'));

/**
 * JSON can't say that the client leaves out the model, which every other case gets from the test.
 */
const withoutModel: RequestCase = {
  name: 'no model',
  request: { model: undefined, messages: hi },
  becomes: { refused: 'invalid_request', field: 'model' },
};

/** Every known shape of a chat request, and what it becomes: `requests/`. */
export const requestCases = [...readRequestCases(join(import.meta.dirname, 'requests')), withoutModel];
