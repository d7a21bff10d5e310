import type { ClientRequest, PreparedCall, Translator, UpstreamFailure } from '@gateway/adapter-kit';
import { type JsonBody, readJsonBody } from '@gateway/json';
import { RelayAnswerReader } from './relay-answer-reader.ts';
import { spliceRequest } from './splice-request.ts';
import { withoutSealedReasoning } from './without-sealed-reasoning.ts';

/** Responses requests relayed to a Responses provider: bytes there and back, and the provider's own errors. */
export const responsesTranslator: Translator = { prepare, passesErrorsOn: true };

function prepare(request: ClientRequest): PreparedCall {
  const body = readJsonBody(request.body, request.members);
  return { ...callWith(body, request), amend: (failure) => amend(failure, body, request) };
}

function callWith(body: JsonBody, { lease, forwardHeaders, nowMs }: ClientRequest): PreparedCall {
  return {
    path: '/responses',
    headers: forwardHeaders,
    body: spliceRequest(body, lease.model),
    answer: new RelayAnswerReader({ nowMs }),
  };
}

/** A conversation that has moved to another account brings reasoning along which that account can't read. */
function amend({ meaning }: UpstreamFailure, body: JsonBody, request: ClientRequest): PreparedCall | undefined {
  const amended = meaning === 'unreadable_reasoning' ? withoutSealedReasoning(body) : undefined;
  return amended && callWith(readJsonBody(amended), request);
}
