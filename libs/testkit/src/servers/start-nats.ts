import { randomUUID } from 'node:crypto';
import { findPrograms } from '../programs/find-programs.ts';
import { freePorts, sendAndExpect } from './ports.ts';
import type { ServerProgram, TestServer } from './test-server.ts';
import { startServer, startServerProcess } from './test-server.ts';

export interface NatsOptions {
  /** A port of 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
}

/** Starts a NATS server with JetStream of the caller's own. */
export function startNats(options: NatsOptions = {}): Promise<TestServer> {
  return startServer(natsProgram(), options.port);
}

export function natsProgram(): ServerProgram {
  return {
    kind: 'nats',
    stopSignal: 'SIGTERM',
    uid: undefined,
    image: { name: 'nats:2', port: 4222, command: ['-js', '-sd', '/data'], environment: {} },
    parameters: (port, dataDir) => ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', dataDir],
    url: (host, port) => `nats://${host}:${port}`,
    ping: (host, port) => sendAndExpect(host, port, 'PING\r\n', 'PONG'),
  };
}

/** Servers of a NATS cluster with JetStream. It takes a while until they have agreed who leads. */
export interface NatsCluster extends AsyncDisposable {
  readonly servers: readonly TestServer[];
}

/** Starts three NATS servers that know of each other. */
export async function startNatsCluster(): Promise<NatsCluster> {
  await using stack = new AsyncDisposableStack();
  const programs = await findPrograms('nats');
  const routePorts = await freePorts(3);
  const routes = routePorts.map((port) => `nats://127.0.0.1:${port}`);
  const name = `cluster-${randomUUID()}`;
  const program = natsProgram();
  const servers = await Promise.all(
    routes.map(async (own, index) => {
      const clusterParameters = ['--cluster_name', name, '--cluster', own, '--routes', routes.join(',')];
      const parameters = (port: number, dataDir: string) => [
        ...program.parameters(port, dataDir),
        ...['--server_name', `${name}-${index}`, ...clusterParameters],
      ];
      return stack.use(await startServerProcess({ ...program, parameters }, programs));
    }),
  );
  const open = stack.move();
  return { servers, [Symbol.asyncDispose]: () => open.disposeAsync() };
}
