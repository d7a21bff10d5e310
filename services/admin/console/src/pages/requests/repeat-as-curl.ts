import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';

/**
 * A command that sends a request to the same model at the same endpoint. The prompt is not known
 * here, and the reader uses a token of their own.
 */
export function repeatAsCurl({ endpoint, model }: Pick<RequestLogged, 'endpoint' | 'model'>, address: string): string {
  const header = endpoint.startsWith('/v1/messages') ? 'x-api-key: $TOKEN' : 'authorization: Bearer $TOKEN';
  const body = JSON.stringify({ model: model || '…', ...bodies[endpoint] });
  const lines = [
    `curl -N ${quoted(`${address}${endpoint}`)}`,
    `-H "${header}"`,
    `-H 'content-type: application/json'`,
    `-d ${quoted(body)}`,
  ];
  return lines.join(' \\\n  ');
}

const messages = [{ role: 'user', content: '…' }];

const bodies: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { messages, stream: true },
  '/v1/messages': { max_tokens: 1024, messages, stream: true },
  '/v1/messages/count_tokens': { messages },
  '/v1/responses': { input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: '…' }] }] },
};

/** Quotes a text for a POSIX shell: clients choose the model's name. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
