import { randomUUID } from 'node:crypto';
import { findPrograms } from '../programs/find-programs.ts';
import { freePorts } from './free-port.ts';
import { startServerProcess } from './server-process.ts';
import { natsProgram } from './start-nats.ts';
import type { TestServer } from './test-server.ts';

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
