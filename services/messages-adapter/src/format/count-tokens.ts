import type { TokenCounter } from '@gateway/adapter-kit';
import { readTokenCount } from '@gateway/chat';
import { asObject, readJsonBody } from '@gateway/json';
import { relayHeaders } from './relay-headers.ts';
import { spliceModel } from './splice-request.ts';

/** The provider's count for a Messages request. @see https://platform.claude.com/docs/en/api/messages-count-tokens */
export const messagesTokenCounter: TokenCounter = {
  prepare({ body, members, lease, forwardHeaders }) {
    return {
      path: '/messages/count_tokens',
      headers: relayHeaders(forwardHeaders, 'application/json'),
      body: spliceModel(readJsonBody(body, members), lease.model),
    };
  },

  readCount(body) {
    const count = readTokenCount(asObject(body)?.input_tokens);
    if (count === undefined) throw new TypeError('The answer holds no count.');
    return count;
  },
};
