import type { PostEndpoint } from '../target/endpoints.ts';
import { chat } from './chat.ts';
import type { Format } from './format.ts';
import { messages } from './messages.ts';
import { responses } from './responses.ts';

/** The formats with answers of a model. */
export const conversing: readonly Format[] = [chat, messages, responses];

/** The format of each endpoint. */
export const formats: Readonly<Record<PostEndpoint, Format>> = {
  chat,
  messages,
  'count-tokens': messages,
  responses,
};
