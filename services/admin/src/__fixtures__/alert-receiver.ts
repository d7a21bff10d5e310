import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A receiver of warnings, which answers with these statuses in turn, and then with 200. */
export async function alertReceiver(...statuses: readonly number[]) {
  const received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const left = [...statuses];
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) });
    const status = left.shift() ?? 200;
    response.writeHead(status, { location: '/elsewhere', 'retry-after': status === 429 ? '30' : '0' });
    response.end('body of the receiver');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook`, received };
}
