import type { ClientMessage, RequestCase } from '@gateway/testkit/adapters';
import type OpenAI from 'openai';

/** What a case says of the provider's request: all members but those that every request has. */
export type ProviderMembers = Omit<
  OpenAI.Responses.ResponseCreateParamsStreaming,
  'model' | 'stream' | 'store' | 'input'
> & { readonly input: OpenAI.Responses.ResponseInputItem[] };

export type RequestCases = readonly RequestCase<ProviderMembers>[];

/** Messages for the cases that are about something else, and what they become. */
export const hi: readonly ClientMessage[] = [{ role: 'user', content: 'Hi' }];
export const sentHi: ProviderMembers['input'] = [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
];
