import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, type TestBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { forgetCertificates, useCertificates } from './certificates.ts';
import { untilModelsAreKnown, writeGatewayFile } from './gateway-file.ts';
import { ownBackends } from './own-backends.ts';
import { type RunningServices, type StartOptions, startServices } from './start-services.ts';
import { startSuiteSimulator } from './suite-simulator.ts';
import { suiteSettings, type Topology, uploadSettings } from './topology.ts';

/**
 * Every service in a process, as `npm run start:services` starts them, on real Redis, NATS and
 * Postgres.
 */
export interface ServicesTopology extends Topology {
  /** Restarted processes keep their addresses and settings. */
  readonly services: RunningServices['services'];
  readonly adminUrls: RunningServices['adminUrls'];
  readonly backends: TestBackends;
  /** The folder of the certificates, with TLS. */
  readonly certificates: string | undefined;
  /** `host:port` of the limiter's gRPC. */
  readonly limiterAddress: string;
  /** Path of its gateway.yaml. */
  readonly gatewayFile: string;
  /** The log of the services. */
  readonly logs: () => string;
}

export interface ServicesTopologyOptions {
  /** Further settings of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Services speak TLS with each other. */
  readonly tls?: boolean;
  /** Writes their certificates. Default: those of `dev-certificates`. */
  readonly prepareCertificates?: (folder: string) => Promise<void>;
  /** The number of processes of a service; one of each by default. */
  readonly replicas?: StartOptions['replicas'];
  /** Writes the gateway.yaml. */
  readonly writeFile?: typeof writeGatewayFile;
  /** Starts the servers of their state, which run as long as the stack. */
  readonly openBackends?: (stack: AsyncDisposableStack) => Promise<TestBackends>;
}

export async function startServicesTopology(
  name: string,
  {
    env: further = {},
    tls = false,
    prepareCertificates,
    replicas = {},
    writeFile = writeGatewayFile,
    openBackends = ownBackends,
  }: ServicesTopologyOptions = {},
): Promise<ServicesTopology> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-e2e-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const simulator = stack.use(await startSuiteSimulator(name));
  const backends = await openBackends(stack);
  const gatewayFile = await writeFile(folder, simulator.url);
  const certificates = tls ? join(folder, 'certificates') : undefined;
  if (certificates !== undefined) {
    stack.defer(forgetCertificates);
    await prepareCertificates?.(certificates);
  }
  const started = stack.use(
    await startServices({
      certificates,
      replicas,
      env: {
        ...suiteSettings,
        ...uploadSettings,
        TOKEN_HASH_KEY: randomBytes(32).toString('base64'),
        ...checked(further),
        PORT: String(await freePort()),
        GATEWAY_CONFIG: gatewayFile,
        GATEWAY_DATA: join(folder, 'data'),
        REDIS_URL: backends.redisUrl,
        NATS_URL: backends.natsUrl,
        DATABASE_URL: backends.postgresUrl,
      },
    }),
  );
  if (certificates !== undefined) useCertificates(certificates);
  if (writeFile === writeGatewayFile) await untilModelsAreKnown(started.operator, AbortSignal.timeout(roomMs(30_000)));
  const open = stack.move();
  return {
    name,
    baseUrl: started.baseUrl,
    get adminUrl() {
      return started.adminUrls.admin;
    },
    get adminToken() {
      return started.services.admin.adminToken ?? '';
    },
    edgeAdminUrl: started.adminUrls['edge-router'],
    edgeProcesses: Number(further.EDGE_WORKERS ?? 1),
    operator: started.operator,
    simulator,
    services: started.services,
    gatewayFile,
    adminUrls: started.adminUrls,
    backends,
    certificates,
    // A certificate is for a name, which an address is not.
    limiterAddress: new URL(started.grpcUrls.limiter).host.replace('127.0.0.1', tls ? 'localhost' : '127.0.0.1'),
    logs: started.command.stderr,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/**
 * All services get the same variables from `start:services`, which sets their addresses itself, but
 * not those for browsers.
 */
function checked(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const own = Object.keys(env).filter((name) => !['ADMIN_PUBLIC_URL', 'SIGN_IN_PAGE_URL'].includes(name));
  const chosen = own.find((name) => /^(GRPC_PORT|HOST|\w+_URL)$/.test(name));
  if (chosen !== undefined) throw new Error(`start:services chooses ${chosen} itself`);
  return env;
}
