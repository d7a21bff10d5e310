import type Anthropic from '@anthropic-ai/sdk';
import type { RequestCase } from '@gateway/testkit/adapters';

type Sent = Anthropic.MessageCreateParamsStreaming;

/** The expected members of the provider's request, without those that most requests share. */
export type ProviderMembers = Omit<Sent, 'model' | 'stream' | 'max_tokens'> & Partial<Pick<Sent, 'max_tokens'>>;

export type RequestCases = readonly RequestCase<ProviderMembers>[];

/** Messages for cases that test something else, and their translation. */
export const hi = [{ role: 'user', content: 'Hi' }];
export const sentHi: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];

/** The tool in conversations with calls, as the client declares it. */
export const weather = { type: 'function', function: { name: 'weather' } };
export const sentWeather: Anthropic.Tool = { name: 'weather', input_schema: { type: 'object', properties: {} } };
