import type { ClientRequest, PreparedCall, Translator } from '@gateway/adapter-kit';
import { readJsonBody } from '@gateway/json';
import { RelayAnswerReader } from './relay-answer-reader.ts';
import { spliceRequest } from './splice-request.ts';

/** Responses requests relayed to a Responses provider: bytes there and back, and the provider's own errors. */
export const responsesTranslator: Translator = { prepare, passesErrorsOn: true };

function prepare({ lease, body, members, forwardHeaders, nowMs }: ClientRequest): PreparedCall {
  return {
    path: '/responses',
    headers: forwardHeaders,
    body: spliceRequest(readJsonBody(body, members), lease.model),
    answer: new RelayAnswerReader({ nowMs }),
  };
}
