import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { createTokenText } from '@gateway/tokens';
import { adminTokenIn, operatorByApi } from '../client/operator.ts';
import { untilModelsAreKnown, writeGatewayFile } from './gateway-file.ts';
import { type RunningCommand, startGatewayctl, untilReady } from './gateway-process.ts';
import { startSuiteSimulator } from './suite-simulator.ts';
import { suiteSettings, type Topology, uploadSettings } from './topology.ts';

export interface AllInOneTopology extends Topology {
  readonly command: RunningCommand;
  /** Path of its gateway.yaml. */
  readonly gatewayFile: string;
}

/**
 * The gateway in one process; on its embedded storage unless `env` names real backends.
 * @param writeFile writes its gateway.yaml.
 */
export async function startAllInOne(
  name: string,
  env: Readonly<Record<string, string>> = {},
  writeFile = writeGatewayFile,
): Promise<AllInOneTopology> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-e2e-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const simulator = stack.use(await startSuiteSimulator(name));
  const [port, freePort] = await freePorts(2);
  const adminPort = env.ADMIN_PORT ?? freePort;
  const gatewayFile = await writeFile(folder, simulator.url);
  // The first token of an embedded database is in its folder.
  const ownToken = env.DATABASE_URL === undefined ? undefined : { ADMIN_TOKEN: createTokenText('operator') };
  const command = stack.use(
    startGatewayctl(['start'], {
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      GATEWAY_DATA: join(folder, 'data'),
      GATEWAY_CONFIG: gatewayFile,
      ...suiteSettings,
      ...uploadSettings,
      ...ownToken,
      ...env,
    }),
  );
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  await untilReady(adminUrl, command);
  const adminToken = ownToken?.ADMIN_TOKEN ?? (await adminTokenIn(env.GATEWAY_DATA ?? join(folder, 'data')));
  const operator = operatorByApi({ adminUrl, adminToken });
  if (writeFile === writeGatewayFile) await untilModelsAreKnown(operator, AbortSignal.timeout(roomMs(30_000)));
  const running = stack.move();
  return {
    name,
    command,
    gatewayFile,
    baseUrl: `http://127.0.0.1:${port}`,
    adminUrl,
    adminToken,
    edgeAdminUrl: adminUrl,
    edgeProcesses: Number(env.GATEWAY_WORKERS ?? 1),
    operator,
    simulator,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
