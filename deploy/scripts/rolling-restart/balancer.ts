import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A server behind the balancer. */
export interface Target {
  /** `http://host:port` */
  readonly url: string;
  /** Rejects while it accepts no new connections. */
  readonly checkReadiness: () => Promise<void>;
}

/**
 * One address in front of all edges, as a load balancer has: a new connection goes to the next
 * ready edge.
 */
export interface Balancer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
}

export async function openBalancer(targets: readonly Target[]): Promise<Balancer> {
  const ready = new Set(targets);
  const closed = new AbortController();
  const sockets = new Set<Socket>();
  let turn = 0;
  const server = createServer((client) => {
    hold(client, sockets);
    turn += 1;
    const inTurn = targets.map((_, n) => targets[(turn + n) % targets.length]).filter((target) => target !== undefined);
    connectToOneOf(inTurn.filter((target) => ready.has(target))).then(
      (upstream) => tieTogether(client, hold(upstream, sockets)),
      () => client.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  for (const target of targets) void keepChecking(target, ready, closed.signal);
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    async [Symbol.asyncDispose]() {
      closed.abort();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function keepChecking(target: Target, ready: Set<Target>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await target.checkReadiness().then(
      () => ready.add(target),
      () => ready.delete(target),
    );
    await sleep(checkEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** Well below the edges' DRAIN_DELAY_SECONDS, within which the balancer must notice. */
const checkEveryMs = 200;

async function connectToOneOf(targets: readonly Target[]): Promise<Socket> {
  for (const { url } of targets) {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const isConnected = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    if (isConnected) return socket;
  }
  throw new Error('No edge accepts connections.');
}

function tieTogether(client: Socket, upstream: Socket): void {
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => client.destroySoon());
  client.pipe(upstream).pipe(client);
}

function hold(socket: Socket, sockets: Set<Socket>): Socket {
  sockets.add(socket);
  return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
}
