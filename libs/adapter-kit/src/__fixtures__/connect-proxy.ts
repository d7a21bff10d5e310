import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** A proxy like those between company networks and providers. */
export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  /** The requests it received: "CONNECT host:port" and "POST url". */
  readonly asked: string[];
  /** `proxy-authorization` of each request. */
  readonly authorizations: (string | undefined)[];
  /** The status of its answers to CONNECT. */
  status: number;
}

/**
 * It connects to this local port whatever host is requested, so that the client resolves no names.
 */
export async function startConnectProxy(port: number): Promise<ConnectProxy> {
  const server = createServer((request, response) => {
    note(`${request.method} ${request.url}`, request.headers['proxy-authorization']);
    response.end('forwarded');
  });
  server.on('connect', (request, socket) => {
    note(`CONNECT ${request.url}`, request.headers['proxy-authorization']);
    socket.on('error', () => undefined);
    if (proxy.status !== 200) return socket.end(`HTTP/1.1 ${proxy.status} No\r\ncontent-length: 0\r\n\r\n`);
    const target = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(target).pipe(socket);
    });
    target.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('close', () => target.destroy());
  });
  const note = (asked: string, authorization: string | undefined) => {
    proxy.asked.push(asked);
    proxy.authorizations.push(authorization);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: ConnectProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    authorizations: [],
    status: 200,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
