import { connect, type NetConnectOpts, Socket } from 'node:net';
import type { PoolClient } from 'pg';

/** How long the server may take to take the request. */
const timeoutMs = 1_000;

/**
 * Asks the server to end what a connection is doing. Resolves when it has taken the request, or is not going to; never rejects.
 * The request goes over a connection of its own, without TLS, as libpq sends it; a pooler passes it on to the right server.
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 */
export function cancelStatement(client: PoolClient): Promise<void> {
  const request = cancelRequest(client);
  if (request === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const socket = connect(addressOf(client), () => socket.write(request));
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.on('error', () => socket.destroy());
    socket.resume();
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Undefined for a connection that the server has given no key to. */
function cancelRequest(client: PoolClient): Buffer | undefined {
  const processId = 'processID' in client ? client.processID : undefined;
  const secretKey = 'secretKey' in client ? client.secretKey : undefined;
  if (typeof processId !== 'number' || typeof secretKey !== 'number') return undefined;
  const request = Buffer.alloc(16);
  request.writeInt32BE(request.length, 0);
  request.writeInt32BE(cancelRequestCode, 4);
  request.writeInt32BE(processId, 8);
  request.writeInt32BE(secretKey, 12);
  return request;
}

const cancelRequestCode = (1234 << 16) | 5678;

/** The very server that the connection leads to: its name may stand for several. */
function addressOf({ host, port, connection }: PoolClient): NetConnectOpts {
  if (host.startsWith('/')) return { path: `${host}/.s.PGSQL.${port}` };
  const { stream } = connection;
  const connected = stream instanceof Socket ? stream : undefined;
  return { host: connected?.remoteAddress ?? host, port: connected?.remotePort ?? port };
}
