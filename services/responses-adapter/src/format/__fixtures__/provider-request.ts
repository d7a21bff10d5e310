import type { ClientMessage, RequestCase } from '@gateway/testkit/adapters';
import type OpenAI from 'openai';

/** The expected members of the provider's request, without those that every request has. */
export type ProviderMembers = Omit<
  OpenAI.Responses.ResponseCreateParamsStreaming,
  'model' | 'stream' | 'store' | 'input'
> & { readonly input: OpenAI.Responses.ResponseInputItem[] };

export type RequestCases = readonly RequestCase<ProviderMembers>[];

/** Messages for cases that test something else, and their translation. */
export const hi: readonly ClientMessage[] = [{ role: 'user', content: 'Hi' }];
export const sentHi: ProviderMembers['input'] = [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
];
