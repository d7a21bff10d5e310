/**
 * A request of an endpoint with a long text that is not in its last turn: the answer repeats that
 * one, word by word. Some providers treat two messages of a user in a row as one turn.
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
