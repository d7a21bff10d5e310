import type { AttemptFailure, ClientRequest, PreparedCall, Translator } from '@gateway/adapter-kit';
import { type JsonBody, readJsonBody } from '@gateway/json';
import { RelayAnswerReader } from './relay-answer-reader.ts';
import { spliceRequest, withoutEncryptedReasoning } from './splice-request.ts';

/**
 * Relays Responses requests to a Responses provider: bytes in both directions, and the provider's
 * own errors.
 * @see spec "POST /v1/responses"
 */
export const relayTranslator: Translator = {
  prepare(request: ClientRequest): PreparedCall {
    const body = readJsonBody(request.body, request.members);
    return { ...callWith(body, request), amend: (failure) => amend(failure, body, request) };
  },
  passesErrorsOn: true,
};

function callWith(body: JsonBody, { lease, forwardHeaders, nowMs, maxEventBytes }: ClientRequest): PreparedCall {
  return {
    path: '/responses',
    headers: forwardHeaders,
    body: spliceRequest(body, lease.model),
    answer: new RelayAnswerReader({ nowMs, maxEventBytes }),
  };
}

/**
 * A conversation that has moved to another account contains reasoning that this account can't read.
 */
function amend({ meaning }: AttemptFailure, body: JsonBody, request: ClientRequest): PreparedCall | undefined {
  const readable = meaning === 'unreadable_reasoning' ? withoutEncryptedReasoning(body) : undefined;
  return readable && callWith(readJsonBody(readable), request);
}
