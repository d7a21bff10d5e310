import type { Interceptor, Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { withVisibleTexts } from '@gateway/presentation';

/** Calls to the address of the console. The session is in a cookie that scripts cannot read. */
export function gatewayTransport(): Transport {
  return createConnectTransport({ baseUrl: window.location.origin, interceptors: [withCsrfToken, asSeen] });
}

let csrfToken = '';

/** Sent with every later call: pages of other sites do not know it. */
export function rememberCsrfToken(session: { readonly csrfToken: string } | undefined): void {
  csrfToken = session?.csrfToken ?? '';
}

/**
 * Labels, models and notes come from many sources: pages show them without invisible characters.
 */
const asSeen: Interceptor = (next) => async (request) => {
  const response = await next(request);
  if (!response.stream) return { ...response, message: withVisibleTexts(response.message) };
  return { ...response, message: eachAsSeen(response.message) };
};

async function* eachAsSeen<M>(messages: AsyncIterable<M>): AsyncGenerator<M> {
  for await (const message of messages) yield withVisibleTexts(message);
}

const withCsrfToken: Interceptor = (next) => (request) => {
  if (csrfToken !== '') request.header.set('x-csrf-token', csrfToken);
  return next(request);
};
