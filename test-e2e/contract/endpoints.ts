import type { AccountFormat } from './contract-accounts.ts';
import type { CaseRequest } from './contract-case.ts';

/** A POST endpoint with the facts that its cases need. */
export interface PostEndpoint {
  readonly path: '/v1/chat/completions' | '/v1/messages' | '/v1/messages/count_tokens' | '/v1/responses';
  readonly authHeader: 'authorization' | 'x-api-key';
  readonly limitMiB: number;
  readonly takesCompression: boolean;
  readonly format: AccountFormat;
  /** The path of the simulated provider. */
  readonly upstreamPath: '/v1/responses' | '/v1/messages' | '/v1/messages/count_tokens';
  /** A model that answers. */
  readonly model: string;
  /** The id that leads to an account of the contract test. */
  readonly addresses: 'classId' | 'model';
  readonly body: (model: string, text: string) => Readonly<Record<string, unknown>>;
}

const chat: PostEndpoint = {
  path: '/v1/chat/completions',
  authHeader: 'authorization',
  limitMiB: 16,
  takesCompression: true,
  format: 'responses',
  upstreamPath: '/v1/responses',
  model: 'gateway/snel',
  addresses: 'classId',
  body: (model, content) => ({ model, messages: [{ role: 'user', content }] }),
};

const messages: PostEndpoint = {
  path: '/v1/messages',
  authHeader: 'x-api-key',
  limitMiB: 16,
  takesCompression: false,
  format: 'messages',
  upstreamPath: '/v1/messages',
  model: 'gateway/claude',
  addresses: 'classId',
  body: (model, content) => ({ model, max_tokens: 1_000, messages: [{ role: 'user', content }] }),
};

const countTokens: PostEndpoint = {
  ...messages,
  path: '/v1/messages/count_tokens',
  upstreamPath: '/v1/messages/count_tokens',
  body: (model, content) => ({ model, messages: [{ role: 'user', content }] }),
};

const responses: PostEndpoint = {
  ...chat,
  path: '/v1/responses',
  limitMiB: 64,
  model: 'gpt-5.5-mini',
  addresses: 'model',
  body: (model, text) => ({
    model,
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
  }),
};

export const endpoints = { chat, messages, countTokens, responses } as const;

export function authHeaders(header: PostEndpoint['authHeader'], token: string): Readonly<Record<string, string>> {
  return header === 'authorization' ? { authorization: `Bearer ${token}` } : { 'x-api-key': token };
}

/** A request to an endpoint with a JSON body, as a client would send it. */
export function post(endpoint: PostEndpoint, token: string, body: CaseRequest['body'] | object): CaseRequest {
  const isBytes = typeof body === 'string' || body instanceof Uint8Array;
  return {
    method: 'POST',
    path: endpoint.path,
    headers: { ...authHeaders(endpoint.authHeader, token), 'content-type': 'application/json' },
    body: isBytes ? body : JSON.stringify(body),
  };
}
