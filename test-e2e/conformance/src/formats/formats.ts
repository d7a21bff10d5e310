import type { PostEndpoint } from '../target/endpoints.ts';
import { chat } from './chat.ts';
import type { Format } from './format.ts';
import { messages } from './messages.ts';
import { responses } from './responses.ts';

/** Those in which one can converse. */
export const conversing: readonly Format[] = [chat, messages, responses];

/** The format that each endpoint takes. */
export const formats: Readonly<Record<PostEndpoint, Format>> = {
  chat,
  messages,
  'count-tokens': messages,
  responses,
};
