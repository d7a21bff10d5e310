import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { ConnectionOpening } from './connection-opening.ts';

export interface GrpcPortOptions {
  /** A host; or `unix:/path` of a socket. */
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Takes a connection of one of our own clients, with what was read of it. */
  readonly onStreamOfCalls: (socket: Socket, opening: Buffer) => void;
  /** Takes any other connection, as if nothing had been read of it. */
  readonly onGrpc: (socket: Socket) => void;
}

/** The port that streams of calls and plain gRPC share. The first bytes of a connection say what it is for. */
export class GrpcPort {
  readonly #options: GrpcPortOptions;
  #servers: readonly Server[] = [];
  readonly #opening = new Set<Socket>();
  readonly #open = new Set<Socket>();

  /** @throws Node's error when none of the host's addresses can be listened on. */
  static async listen(options: GrpcPortOptions): Promise<GrpcPort> {
    const port = new GrpcPort(options);
    port.#servers = await listenOn(await endpointsOf(options), (socket) => port.#onConnection(socket));
    return port;
  }

  private constructor(options: GrpcPortOptions) {
    this.#options = options;
  }

  /** 0 for a socket, which has none. */
  get port(): number {
    return portOf(this.#servers[0]);
  }

  /** Takes no more connections. Resolves when those that are open have ended. */
  async close(): Promise<void> {
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)));
    for (const socket of this.#opening) socket.destroy();
    await Promise.all(closed);
  }

  /** Cuts all connections. */
  cut(): void {
    for (const socket of [...this.#opening, ...this.#open]) socket.destroy();
  }

  #onConnection(socket: Socket): void {
    this.#opening.add(socket);
    socket.once('close', () => {
      this.#opening.delete(socket);
      this.#open.delete(socket);
    });
    new ConnectionOpening(socket, (owner, bytes) => {
      this.#opening.delete(socket);
      this.#open.add(socket);
      if (owner === 'stream of calls') return this.#options.onStreamOfCalls(socket, bytes);
      socket.pause();
      if (bytes.length > 0) socket.unshift(bytes);
      this.#options.onGrpc(socket);
    });
  }
}

async function endpointsOf({ host, port }: GrpcPortOptions): Promise<readonly ListenOptions[]> {
  if (host.startsWith('unix:')) return [{ path: host.slice('unix:'.length) }];
  const found = await lookup(host.replace(/^\[|\]$/g, ''), { all: true });
  return found.map(({ address }) => ({ host: address, port }));
}

/** Listens on all of them, on the same port; those that can't be had are left out, as long as there is one. */
async function listenOn(
  endpoints: readonly ListenOptions[],
  onConnection: (socket: Socket) => void,
): Promise<readonly Server[]> {
  const servers: Server[] = [];
  const failures: unknown[] = [];
  for (const endpoint of endpoints) {
    const server = createServer({ noDelay: true }, onConnection);
    try {
      server.listen({ ...endpoint, ...(endpoint.port === 0 ? { port: portOf(servers[0]) } : {}) });
      await once(server, 'listening');
      // A connection that could not be taken is its client's loss.
      server.on('error', () => undefined);
      servers.push(server);
    } catch (thrown) {
      failures.push(thrown);
    }
  }
  if (servers.length === 0) throw failures[0];
  return servers;
}

function portOf(server: Server | undefined): number {
  const address = server?.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
