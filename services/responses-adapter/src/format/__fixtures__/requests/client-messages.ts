import type { ClientMessage, ClientText, ClientToolCall } from '@gateway/testkit/adapters';

export const text = (said: string): ClientText => ({ type: 'text', text: said });

/** What a client asks when the case is about something else. */
export const question: ClientMessage = { role: 'user', content: 'Hi' };

export const toolCall = (id: string, name = 'weather', written = '{"city":"Delft"}'): ClientToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: written },
});

export const calling = (...calls: readonly ClientToolCall[]): ClientMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: calls,
});

export const result = (id: string, content: string | readonly ClientText[] = '12 °C'): ClientMessage => ({
  role: 'tool',
  tool_call_id: id,
  content,
});
