import type Anthropic from '@anthropic-ai/sdk';
import type { RequestCase } from '@gateway/testkit/adapters';

type Sent = Anthropic.MessageCreateParamsStreaming;

/** What a case says of the provider's request: all members but those that are the same in most requests. */
export type ProviderMembers = Omit<Sent, 'model' | 'stream' | 'max_tokens'> & Partial<Pick<Sent, 'max_tokens'>>;

export type RequestCases = readonly RequestCase<ProviderMembers>[];

/** Messages for the cases that are about something else, and what they become. */
export const hi = [{ role: 'user', content: 'Hi' }];
export const sentHi = [user(text('Hi'))];

export function user(...content: Anthropic.ContentBlockParam[]): Anthropic.MessageParam {
  return { role: 'user', content };
}

export function assistant(...content: Anthropic.ContentBlockParam[]): Anthropic.MessageParam {
  return { role: 'assistant', content };
}

export function text(content: string): Anthropic.TextBlockParam {
  return { type: 'text', text: content };
}

export function toolUse(id: string, input: Readonly<Record<string, unknown>> = {}): Anthropic.ToolUseBlockParam {
  return { type: 'tool_use', id, name: 'weather', input };
}

export function toolResult(id: string, content?: string | Anthropic.TextBlockParam[]): Anthropic.ToolResultBlockParam {
  return { type: 'tool_result', tool_use_id: id, ...(content !== undefined && { content }) };
}

/** A call of the tool in an assistant message of the client. */
export function call(id: string, writtenArguments = '{}') {
  return { id, type: 'function', function: { name: 'weather', arguments: writtenArguments } };
}

export function result(id: string, content: unknown) {
  return { role: 'tool', tool_call_id: id, content };
}

/** The tool that conversations with calls are about, as the client declares it. */
export const weather = { type: 'function', function: { name: 'weather' } };
export const sentWeather: Anthropic.Tool = { name: 'weather', input_schema: { type: 'object', properties: {} } };
