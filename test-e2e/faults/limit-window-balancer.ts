import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/**
 * One TCP address in front of several servers, like a cluster's service: each connection goes to
 * the next available server.
 */
export interface Balancer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** How many clients are connected to a server now. */
  readonly connections: number;
  /** Sets the servers, as `http://host:port`. */
  leadTo(urls: readonly string[]): void;
}

export async function openBalancer(): Promise<Balancer> {
  let targets: readonly URL[] = [];
  let turn = 0;
  const sockets = new Set<Socket>();
  const connected = new Set<Socket>();
  const server = createServer((client) => {
    hold(client, sockets);
    turn += 1;
    const inTurn = targets.map((_, n) => targets[(turn + n) % targets.length]).filter((url) => url !== undefined);
    void connectToOneOf(inTurn).then(
      (upstream) => {
        if (client.destroyed) return void upstream.destroy();
        tieTogether(hold(client, connected), hold(upstream, sockets));
      },
      () => client.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    get connections() {
      return connected.size;
    },
    leadTo(urls) {
      targets = urls.map((url) => new URL(url));
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function connectToOneOf(targets: readonly URL[]): Promise<Socket> {
  for (const { hostname, port } of targets) {
    const socket = connect(Number(port), hostname);
    const isConnected = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    if (isConnected) return socket;
  }
  throw new Error('none of the servers takes a connection');
}

function tieTogether(client: Socket, upstream: Socket): void {
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => client.destroy());
  client.pipe(upstream).pipe(client);
}

function hold(socket: Socket, sockets: Set<Socket>): Socket {
  sockets.add(socket);
  return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
}
