import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Listening extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** Closes connections without a running request. */
  closeIdleConnections(): void;
}

/**
 * Serves on the loopback interface. Disposing closes it, even with requests in progress. @param
 * port 0: a free one
 */
export async function listenOnLoopback(listener: RequestListener, port = 0): Promise<Listening> {
  const server = createServer(listener);
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    closeIdleConnections: () => server.closeIdleConnections(),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
