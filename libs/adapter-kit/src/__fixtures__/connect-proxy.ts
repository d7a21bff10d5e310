import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** A proxy as companies have them between their networks and providers. */
export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  /** What it was asked for: "CONNECT host:port" and "POST url". */
  readonly asked: string[];
  /** `proxy-authorization` of each. */
  readonly authorizations: (string | undefined)[];
  /** How it answers to CONNECT. */
  status: number;
}

/** Whatever host is asked for, it leads to this port of this machine: so the client does not look names up. */
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
