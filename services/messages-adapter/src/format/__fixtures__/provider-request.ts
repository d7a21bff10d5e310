import type Anthropic from '@anthropic-ai/sdk';
import type { RequestCase } from '@gateway/testkit/adapters';

type Sent = Anthropic.MessageCreateParamsStreaming;

/**
 * What a case says of the provider's request: all members but those that are the same in most
 * requests.
 */
export type ProviderMembers = Omit<Sent, 'model' | 'stream' | 'max_tokens'> & Partial<Pick<Sent, 'max_tokens'>>;

export type RequestCases = readonly RequestCase<ProviderMembers>[];

/** Messages for the cases that are about something else, and what they become. */
export const hi = [{ role: 'user', content: 'Hi' }];
export const sentHi: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];

/** The tool that conversations with calls are about, as the client declares it. */
export const weather = { type: 'function', function: { name: 'weather' } };
export const sentWeather: Anthropic.Tool = { name: 'weather', input_schema: { type: 'object', properties: {} } };
