import { roomMs } from '@gateway/testkit/room';
import type { Topology } from '../topologies/topology.ts';
import { type ChatAnswer, readAnswer } from './chat.ts';

/** The endpoints that relay a provider's own format. */
export type RelayPath = '/v1/messages' | '/v1/messages/count_tokens' | '/v1/responses';

/**
 * Posts to a relay endpoint and reads the whole answer. Text and bytes are sent unchanged, other
 * values as JSON.
 */
export async function relay(
  { baseUrl }: Topology,
  token: string,
  request: {
    readonly path: RelayPath;
    readonly body: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<ChatAnswer> {
  const response = await fetch(`${baseUrl}${request.path}`, {
    method: 'POST',
    headers: { ...relayHeaders(token, request.path), ...request.headers },
    body: bodyOf(request.body),
    signal: AbortSignal.timeout(roomMs(30_000)),
  });
  return readAnswer(response);
}

/**
 * The headers of every relayed request: the credential in the header of its endpoint, and the
 * content type.
 */
export function relayHeaders(token: string, path: RelayPath): Readonly<Record<string, string>> {
  const contentType = { 'content-type': 'application/json' };
  return path === '/v1/responses'
    ? { ...contentType, authorization: `Bearer ${token}` }
    : { ...contentType, 'x-api-key': token };
}

/** A Messages body with one user message. */
export function messagesBody(model: string, text: string, more: Readonly<Record<string, unknown>> = {}) {
  return { model, max_tokens: 1_000, messages: [{ role: 'user', content: text }], ...more };
}

/** The same for a count, which takes no `max_tokens`. */
export function countBody(model: string, text: string) {
  return { model, messages: [{ role: 'user', content: text }] };
}

/** By the path of the Messages endpoints. */
export const messagesBodies = { '/v1/messages': messagesBody, '/v1/messages/count_tokens': countBody } as const;

/** A Responses body with one user message. */
export function responsesBody(model: string, text: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    model,
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
    ...more,
  };
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? Uint8Array.from(body) : JSON.stringify(body);
}
