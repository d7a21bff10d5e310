import type { PreparedCall } from '@gateway/adapter-kit';

/** The text of a request to a provider, in whatever form it is stored. */
export function textOfBody({ body }: Pick<PreparedCall, 'body'>): string {
  if (typeof body === 'string') return body;
  return Buffer.concat(body instanceof Uint8Array ? [body] : body).toString();
}
