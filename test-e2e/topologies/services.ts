import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@gateway/simulator';
import { type RunningServices, type ServicesOptions, startServices } from '@gateway/testkit';
import { responsesModels, writeGatewayFile } from './gateway-file.ts';
import { ownBackends } from './own-backends.ts';
import { suiteSettings, type Topology, uploadSettings } from './topology.ts';

/** Every service a process, on real Redis, NATS and Postgres. */
export interface ServicesTopology extends Topology {
  readonly services: RunningServices['services'];
  /** `host:port` of the limiter's gRPC. */
  readonly limiterAddress: string;
  /** What the services have logged. */
  readonly logs: () => string;
}

export async function startServicesTopology(
  name: string,
  envOf: ServicesOptions['envOf'] = {},
): Promise<ServicesTopology> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-e2e-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const simulator = stack.use(await startSimulator({ responsesModels }));
  const lines: string[] = [];
  const running = stack.use(
    await startServices({
      backends: await ownBackends(stack),
      gatewayConfigFile: await writeGatewayFile(folder, simulator.url),
      env: { ...suiteSettings, ...uploadSettings },
      envOf,
      onLine: (service, line) => lines.push(`${service} ${line}`),
    }),
  );
  const open = stack.move();
  return {
    name,
    baseUrl: running.baseUrl,
    adminUrl: running.adminUrls.identity,
    edgeAdminUrl: running.adminUrls['edge-router'],
    brokerAdminUrl: running.adminUrls['pool-broker'],
    simulator,
    services: running.services,
    limiterAddress: new URL(running.grpcUrls.limiter).host,
    logs: () => lines.join('\n'),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
