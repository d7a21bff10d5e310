/** A request of an endpoint with a long text that is not in its last message: that one comes back in the answer. */
export function longContent(path: string, text: string): object {
  const messages = [text, 'short'].map((content) => ({ role: 'user', content }));
  switch (path) {
    case '/v1/responses':
      return { model: 'gpt-5.5', input: messages };
    case '/v1/messages':
      return { model: 'gateway/claude', max_tokens: 100, messages };
    default:
      return { model: 'gateway/claude', messages };
  }
}
