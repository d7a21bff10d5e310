import { join } from 'node:path';
import { readAnswerCases, readRequestCases } from '@gateway/testkit/adapters';

/** Every known shape of an answer, and what a chat client gets of it: `answers/`. */
export const answerCases = readAnswerCases(join(import.meta.dirname, 'answers'));

/** Every known shape of a chat request, and what it becomes: `requests/`. */
export const requestCases = readRequestCases(join(import.meta.dirname, 'requests'));
