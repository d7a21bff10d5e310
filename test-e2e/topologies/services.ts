import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@gateway/simulator';
import {
  AdoptedProcess,
  freePort,
  type ProcessControl,
  type ServiceName,
  type ServicesOptions,
  serviceNames,
  servicePlan,
  type TestBackends,
  type TopologyAddresses,
  Undertaker,
} from '@gateway/testkit';
import { responsesModels, writeGatewayFile } from './gateway-file.ts';
import { ownBackends } from './own-backends.ts';
import { runStartServices, type Started, welcomeOf } from './start-services.ts';
import { suiteSettings, type Topology, uploadSettings } from './topology.ts';

/** Every service a process, as `npm run start:services` starts them, on real Redis, NATS and Postgres. */
export interface ServicesTopology extends Topology {
  /** What is restarted gets the addresses and settings that it had. */
  readonly services: Readonly<Record<ServiceName, ProcessControl>>;
  readonly adminUrls: Started['adminUrls'];
  readonly backends: TestBackends;
  /** `host:port` of the limiter's gRPC. */
  readonly limiterAddress: string;
  /** Path of its gateway.yaml. */
  readonly gatewayFile: string;
  /** What the services have logged. */
  readonly logs: () => string;
}

export interface ServicesTopologyOptions {
  /** Further settings of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Writes the gateway.yaml. */
  readonly writeFile?: typeof writeGatewayFile;
  /** Starts what they keep their state in, for as long as the stack lasts. */
  readonly openBackends?: (stack: AsyncDisposableStack) => Promise<TestBackends>;
}

export async function startServicesTopology(
  name: string,
  { env: further = {}, writeFile = writeGatewayFile, openBackends = ownBackends }: ServicesTopologyOptions = {},
): Promise<ServicesTopology> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-e2e-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const simulator = stack.use(await startSimulator({ responsesModels }));
  const common = {
    backends: await openBackends(stack),
    edgePort: await freePort(),
    dataFolder: join(folder, 'data'),
    tokenHashKey: randomBytes(32).toString('base64'),
    gatewayConfigFile: await writeFile(folder, simulator.url),
  };
  const env = {
    ...suiteSettings,
    ...uploadSettings,
    ...checked(further),
    PORT: String(common.edgePort),
    GATEWAY_CONFIG: common.gatewayConfigFile,
    GATEWAY_DATA: common.dataFolder,
    TOKEN_HASH_KEY: common.tokenHashKey,
    REDIS_URL: common.backends.redisUrl,
    NATS_URL: common.backends.natsUrl,
    DATABASE_URL: common.backends.postgresUrl,
  };
  const command = stack.use(runStartServices(env));
  const started = await welcomeOf(command);
  const lines: string[] = [];
  const onLine = (service: ServiceName, line: string) => void lines.push(`${service} | ${line}`);
  const services = controlsOf(started, { ...common, ports: portsOf(started) }, { env, onLine }, stack);
  const open = stack.move();
  return {
    name,
    baseUrl: started.baseUrl,
    adminUrl: started.adminUrls.identity,
    edgeAdminUrl: started.adminUrls['edge-router'],
    limiterAdminUrl: started.adminUrls.limiter,
    usageAdminUrl: started.adminUrls['usage-query'],
    ledgerAdminUrl: started.adminUrls['usage-ingest'],
    brokerAdminUrl: started.adminUrls['pool-broker'],
    simulator,
    services,
    gatewayFile: common.gatewayConfigFile,
    adminUrls: started.adminUrls,
    backends: common.backends,
    limiterAddress: started.grpcAddresses.limiter,
    logs: () => [command.stderr(), ...lines].join('\n'),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** All services get the same variables from `start:services`, which sets their addresses itself. */
function checked(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const chosen = Object.keys(env).find((name) => /^(GRPC_PORT|ADMIN_PORT|HOST|\w+_URL)$/.test(name));
  if (chosen !== undefined) throw new Error(`start:services chooses ${chosen} itself`);
  return env;
}

function portsOf({ adminUrls, grpcAddresses }: Started): TopologyAddresses['ports'] {
  const portOf = (url: string) => (URL.canParse(url) ? Number(new URL(url).port) : 0);
  return mapServices((name) => ({ admin: portOf(adminUrls[name]), grpc: portOf(`http://${grpcAddresses[name]}`) }));
}

function controlsOf(
  { pids }: Started,
  addresses: TopologyAddresses,
  options: Pick<ServicesOptions, 'env' | 'onLine'>,
  stack: AsyncDisposableStack,
): ServicesTopology['services'] {
  return mapServices((name) => {
    const undertaker = stack.adopt(new Undertaker(), (each) => each.dismiss());
    return stack.use(new AdoptedProcess(pids[name], servicePlan(name, addresses, options), undertaker));
  });
}

function mapServices<T>(valueFor: (name: ServiceName) => T): Record<ServiceName, T> {
  // Every name is there: the entries come from the list that the type is made of.
  return Object.fromEntries(serviceNames.map((name) => [name, valueFor(name)])) as Record<ServiceName, T>;
}
