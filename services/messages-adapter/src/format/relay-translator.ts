import {
  type ClientRequest,
  choosesTier,
  type PreparedCall,
  type TokenCounter,
  type Translator,
} from '@gateway/adapter-kit';
import { readTokenCount } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import { asObject, type JsonBody, readJsonBody } from '@gateway/json';
import { RelayAnswerReader } from './relay-answer-reader.ts';
import { RelayMessageReader } from './relay-message-reader.ts';

/**
 * Relays Messages requests to a Messages provider: the client's bytes except for the model, and the
 * provider's bytes except for its errors.
 * @see spec "POST /v1/messages"
 */
export const relayTranslator: Translator = {
  prepare({ body, members, lease, forwardHeaders, maxAnswerBytes, maxEventBytes }: ClientRequest): PreparedCall {
    const request = readJsonBody(body, members);
    const streamed = request.value('stream') === true;
    return {
      path: '/messages',
      headers: relayHeaders(forwardHeaders, streamed ? 'text/event-stream' : 'application/json'),
      body: spliceRequest(request, lease.model),
      answer: streamed ? new RelayAnswerReader(maxEventBytes) : new RelayMessageReader(maxAnswerBytes),
      choosesTier: choosesTier(request, ownTiers),
    };
  },
};

/** With these the account's own limits apply. */
const ownTiers = { service_tier: [null, 'auto', 'standard_only'], speed: [null, 'standard'] } as const;

/**
 * The provider's count for a Messages request.
 * @see https://platform.claude.com/docs/en/api/messages-count-tokens
 */
export const tokenCounter: TokenCounter = {
  prepare({ body, members, lease, forwardHeaders }) {
    return {
      path: '/messages/count_tokens',
      headers: relayHeaders(forwardHeaders, 'application/json'),
      body: spliceRequest(readJsonBody(body, members), lease.model),
    };
  },

  readCount(body) {
    const count = readTokenCount(asObject(body)?.input_tokens);
    if (count === undefined) throw new TypeError('The answer has no count.');
    return count;
  },
};

type Headers = Readonly<Record<string, string>>;

/**
 * The headers of a relayed request: the client's version and betas under both spellings, because
 * pools differ in which one they read, and the expected type of the answer.
 * @see spec "Versioning"
 */
export function relayHeaders(client: Headers, accept: 'text/event-stream' | 'application/json'): Headers {
  const version = client['partner-version'] || client['anthropic-version'] || '2023-06-01';
  const beta = client['partner-beta'] || client['anthropic-beta'] || '';
  return {
    'anthropic-version': version,
    'partner-version': version,
    ...(beta === '' ? {} : { 'anthropic-beta': beta, 'partner-beta': beta }),
    accept,
  };
}

/**
 * The client's body for the provider, with another `model`, however often and however escaped the
 * key was written. Only the bytes of these values change; the chunks share the client's memory.
 * Throws `invalid_request` without a model.
 * @see spec "POST /v1/messages"
 */
export function spliceRequest({ source, namedMembers }: JsonBody, model: string): readonly Buffer[] {
  const models = namedMembers.filter(({ key }) => key === 'model');
  if (models.length === 0) throw new GatewayError('invalid_request', 'model is required.');
  const text = JSON.stringify(model);
  return source.spliced(models.map(({ valueStart: start, valueEnd: end }) => ({ start, end, text })));
}
