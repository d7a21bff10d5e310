import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';

/**
 * A command that sends a request to the same model at the same endpoint. The prompt is not known
 * here, and the reader uses a token of their own.
 */
export function repeatAsCurl({ endpoint, model, streamed = true }: Repeatable, address: string): string {
  const stream = streamed && mayStream.includes(endpoint) ? { stream: true } : {};
  const body = JSON.stringify({ model: model || '…', ...bodies[endpoint], ...stream });
  return asCurl({ endpoint, body, streamed }, address);
}

/** A command that sends this body. The token is in the variable GATEWAY_TOKEN. */
export function asCurl({ endpoint, body, streamed }: SentAsCurl, address: string): string {
  const header = endpoint.startsWith('/v1/messages')
    ? 'x-api-key: $GATEWAY_TOKEN'
    : 'authorization: Bearer $GATEWAY_TOKEN';
  const lines = [
    `curl${streamed ? ' -N' : ''} ${quoted(`${address}${endpoint}`)}`,
    `-H "${header}"`,
    `-H 'content-type: application/json'`,
    // With -d, a text that begins with @ would be the name of a file.
    `${body.startsWith('@') ? '--data-raw' : '-d'} ${quoted(body)}`,
  ];
  return lines.join(' \\\n  ');
}

interface SentAsCurl {
  readonly endpoint: string;
  readonly body: string;
  readonly streamed: boolean;
}

const messages = [{ role: 'user', content: '…' }];

const bodies: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { messages },
  '/v1/messages': { max_tokens: 1024, messages },
  '/v1/messages/count_tokens': { messages },
  '/v1/responses': { input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: '…' }] }] },
};

type Repeatable = Pick<RequestRecorded, 'endpoint' | 'model'> & {
  /** Undefined: unknown. */
  readonly streamed?: boolean | undefined;
};

/** An answer to a Responses request is always a stream; a count of tokens never is. */
const mayStream = ['/v1/chat/completions', '/v1/messages'];

/** Quotes a text for a POSIX shell: clients choose the model's name. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
