import type { PreparedCall } from '@gateway/adapter-kit';

/** What a provider is sent, in whatever form it is kept. */
export function textOfBody({ body }: Pick<PreparedCall, 'body'>): string {
  if (typeof body === 'string') return body;
  return Buffer.concat(body instanceof Uint8Array ? [body] : body).toString();
}
