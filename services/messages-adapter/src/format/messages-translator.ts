import type { ClientRequest, PreparedCall, Translator } from '@gateway/adapter-kit';
import { readJsonBody } from '@gateway/json';
import { RelayAnswerReader } from './relay-answer-reader.ts';
import { relayHeaders } from './relay-headers.ts';
import { RelayMessageReader } from './relay-message-reader.ts';
import { spliceModel } from './splice-request.ts';

/**
 * Messages spoken to a Messages provider: the client's bytes but for the model, the provider's bytes but for its errors.
 * @see spec "POST /v1/messages"
 */
export const messagesTranslator: Translator = {
  prepare({ body, members, lease, forwardHeaders, maxAnswerBytes }: ClientRequest): PreparedCall {
    const request = readJsonBody(body, members);
    const streamed = request.value('stream') === true;
    return {
      path: '/messages',
      headers: relayHeaders(forwardHeaders, streamed ? 'text/event-stream' : 'application/json'),
      body: spliceModel(request, lease.model),
      answer: streamed ? new RelayAnswerReader() : new RelayMessageReader(maxAnswerBytes),
    };
  },
};
