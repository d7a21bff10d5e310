import type { Server } from 'node:net';
import type { Network } from './network.ts';
import { WorldSocket } from './world-socket.ts';

/** What `net.connect` and `listen` are asked for here. */
export interface SocketAddress {
  readonly host?: string;
  readonly port?: number;
  readonly allowHalfOpen?: boolean;
}

/** A client's socket to `host:port` of the simulated network. */
export function connectSocket(
  network: Network,
  { host = '', port = 0, allowHalfOpen = false }: SocketAddress,
): WorldSocket {
  return new WorldSocket(network.world, network.connect(`${host}:${port}`), { isConnecting: true, allowHalfOpen });
}

/** Makes a server of Node listen on the simulated network, at a port of the current process. */
export function listenOn(network: Network, server: Server, { port = 0 }: SocketAddress): void {
  const listener = network.listen(port, (end) => {
    const socket = new WorldSocket(network.world, end, { isConnecting: false, allowHalfOpen: true });
    const internals = server as unknown as { _connections: number };
    internals._connections += 1;
    Object.assign(socket, { server, _server: server });
    server.emit('connection', socket);
  });
  const handle = {
    close: () => listener.close(),
    getsockname: (into: object) =>
      void Object.assign(into, { address: '127.0.0.1', family: 'IPv4', port: listener.port }),
    ref: () => undefined,
    unref: () => undefined,
    hasRef: () => true,
  };
  Object.assign(server, { _handle: handle });
  process.nextTick(() => {
    server.emit('listening');
    stopRealChecks(server);
  });
}

/** HTTP servers check their connections by a real interval, which a simulation must not see. */
function stopRealChecks(server: Server): void {
  for (const name of Object.getOwnPropertySymbols(server)) {
    if (name.description === 'http.server.connectionsCheckingInterval') clearInterval(Reflect.get(server, name));
  }
}
