import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';

/** A command that asks the same model at the same endpoint. What was said is not known here, and the token is the reader's own. */
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

/** For a POSIX shell: a client can name a model as it likes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
