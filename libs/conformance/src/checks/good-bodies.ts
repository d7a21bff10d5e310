import { chat } from '../formats/chat.ts';
import { hello } from '../formats/format.ts';
import { messages } from '../formats/messages.ts';
import { responses } from '../formats/responses.ts';

export const postEndpoints = ['chat', 'messages', 'count-tokens', 'responses'] as const;
export type PostEndpoint = (typeof postEndpoints)[number];

/** A request that each endpoint takes. */
export const goodBodies: Readonly<Record<PostEndpoint, (model: string) => Readonly<Record<string, unknown>>>> = {
  chat: (model) => chat.request(model, hello),
  messages: (model) => messages.request(model, hello),
  // A field that is undefined is left out of the JSON.
  'count-tokens': (model) => ({ ...messages.request(model, hello), max_tokens: undefined }),
  responses: (model) => responses.request(model, hello),
};
