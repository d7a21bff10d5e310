import type { Interceptor, Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';

/** Calls of the address that the console came from. The session is in a cookie that scripts cannot read. */
export function gatewayTransport(): Transport {
  return createConnectTransport({ baseUrl: window.location.origin, interceptors: [withCsrfToken] });
}

let csrfToken = '';

/** Goes with every call from now on: pages of other sites do not know it. */
export function rememberCsrfToken(session: { readonly csrfToken: string } | undefined): void {
  csrfToken = session?.csrfToken ?? '';
}

const withCsrfToken: Interceptor = (next) => (request) => {
  if (csrfToken !== '') request.header.set('x-csrf-token', csrfToken);
  return next(request);
};
