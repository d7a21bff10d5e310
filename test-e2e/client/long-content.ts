/**
 * A request of an endpoint with a long text that is not in its last turn: that one comes back in the answer, word by word. Two
 * messages of a user in a row would be one turn to some providers.
 */
export function longContent(path: string, text: string): object {
  const messages = [
    { role: 'user', content: text },
    { role: 'assistant', content: 'I see.' },
    { role: 'user', content: 'short' },
  ];
  switch (path) {
    case '/v1/responses':
      return { model: 'gpt-5.5', input: messages };
    case '/v1/messages':
      return { model: 'gateway/claude', max_tokens: 100, messages };
    default:
      return { model: 'gateway/claude', messages };
  }
}
