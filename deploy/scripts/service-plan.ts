import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  freePorts,
  mapServices,
  programOf,
  type ServiceAddress,
  type ServiceName,
  serviceNames,
} from '@gateway/testkit';
import { tlsEnvironment } from './dev-certificates.ts';
import { replicaNamesEnvironment } from './rolling-restart/replica-names.ts';

/** The inputs of the services' settings, besides their addresses. */
export interface ServicesSettings {
  /** Redis, NATS and Postgres. The database must be the services' own: it is migrated. */
  readonly backends: { readonly redisUrl: string; readonly natsUrl: string; readonly postgresUrl: string };
  /** Undefined: the services use their default configuration. */
  readonly gatewayConfigFile: string | undefined;
  /** The public HTTP port of the first edge. 0: a free one. */
  readonly port: number;
  /** The port of the first admin service, for the console and the operators' API. 0: a free one. */
  readonly adminPort: number;
  /** The data folder of the first edge. Undefined: a temporary folder, as for all others. */
  readonly dataFolder: string | undefined;
  /** Undefined: a random one, with which tokens of earlier runs are unknown. */
  readonly tokenHashKey: string | undefined;
  /** A folder of `dev-certificates`: services speak TLS. Undefined: without TLS. */
  readonly certificates: string | undefined;
  /** The number of processes of a service; one by default. */
  readonly replicas: ReadonlyMap<string, number>;
  /**
   * Callers reach all replicas of a service by one name, as in a cluster. Each replica except the
   * edges' has a loopback address of its own, which Linux provides. By default the n-th of a
   * service calls the n-th of its peers, if there are that many.
   */
  readonly haveSharedNames?: boolean;
  /** The token of the first operator. Empty: there are operators. */
  readonly adminToken: string;
  /** Settings of all services. */
  readonly env: NodeJS.ProcessEnv;
  /** Settings of single services, which override those of all services. */
  readonly envOf: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** The addresses and the settings of a process. */
export interface PlannedService {
  readonly address: ServiceAddress;
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
}

type PlannedServices = Readonly<Record<ServiceName, readonly PlannedService[]>>;

/** Chooses free ports and folders for every process. */
export async function planServices(settings: ServicesSettings, stack: AsyncDisposableStack): Promise<PlannedServices> {
  const tokenHashKey = settings.tokenHashKey ?? randomBytes(32).toString('base64');
  const accountKeys = settings.env.ACCOUNT_KEYS ?? `k1:${randomBytes(32).toString('base64')}`;
  const personKeys = settings.env.PERSON_KEYS ?? `k1:${randomBytes(32).toString('base64')}`;
  const counts = mapServices((name) => settings.replicas.get(name) ?? 1);
  const all = serviceNames.reduce((sum, name) => sum + counts[name], 0);
  const { port: publicPort, adminPort, certificates, haveSharedNames = false } = settings;
  const ports = [...(await freePorts(5 * all))].filter((port) => port !== publicPort && port !== adminPort);
  const urlOfPort = (port: number | undefined, scheme = 'http') => `${scheme}://127.0.0.1:${port}`;
  const freeUrl = (scheme?: string) => urlOfPort(ports.pop(), scheme);
  const scheme = certificates === undefined ? 'http' : 'https';
  const edges = await Promise.all(
    Array.from({ length: counts['edge-router'] }, async (_, index) => ({
      publicUrl: index === 0 && publicPort !== 0 ? urlOfPort(publicPort) : freeUrl(),
      dataFolder: (index === 0 ? settings.dataFolder : undefined) ?? (await temporaryFolder(stack)),
    })),
  );
  const addresses = mapServices((name) => {
    const [grpcPort, credentialPort] = [ports.pop(), ports.pop()];
    return Array.from({ length: counts[name] }, (_, index): ServiceAddress => {
      const grpcUrl = haveSharedNames ? `${scheme}://127.0.0.${index + 2}:${grpcPort}` : freeUrl(scheme);
      const isNamed = name === 'admin' && index === 0 && adminPort !== 0;
      const own = { adminUrl: isNamed ? urlOfPort(adminPort, scheme) : freeUrl(scheme), grpcUrl };
      if (name === 'edge-router') return { ...own, ...edges[index] };
      if (name === 'admin') return { ...own, adminToken: settings.adminToken };
      if (name !== 'pool-broker') return own;
      const shared = `${scheme}://127.0.0.${index + 2}:${credentialPort}`;
      return { ...own, credentialUrl: haveSharedNames ? shared : freeUrl(scheme) };
    });
  });
  const peer = (index: number) => (name: ServiceName) => addresses[name][index % counts[name]];
  const callable = (name: ServiceName, url = '') =>
    haveSharedNames ? url.replace(new URL(url).hostname, nameOf(name)) : url;
  const hosts = (name: ServiceName) => addresses[name].map(({ grpcUrl }) => new URL(grpcUrl).hostname);
  const names = Object.fromEntries(serviceNames.map((name) => [nameOf(name), hosts(name)]));
  const metricsUrls = serviceNames
    .flatMap((name) => addresses[name].map(({ adminUrl }) => `${name}=${adminUrl}`))
    .join();
  return mapServices((name) =>
    addresses[name].map((address, index) => ({
      address,
      program: programOf(name),
      env: {
        ...environmentOfPrograms,
        ...settings.env,
        HOST: name === 'edge-router' ? '127.0.0.1' : new URL(address.grpcUrl).hostname,
        ADMIN_HOST: '127.0.0.1',
        ...(haveSharedNames && replicaNamesEnvironment(names)),
        GRPC_PORT: new URL(address.grpcUrl).port,
        ADMIN_PORT: new URL(address.adminUrl).port,
        ...(certificates !== undefined && tlsEnvironment(certificates, name)),
        ...addressSettings[name]({
          ...settings,
          ...{ tokenHashKey, accountKeys, personKeys, metricsUrls, address },
          edgeUrl: peer(index)('edge-router')?.publicUrl ?? '',
          urlOf: (service) => callable(service, peer(index)(service)?.grpcUrl),
          credentialUrl: callable('pool-broker', peer(index)('pool-broker')?.credentialUrl),
        }),
        ...settings.envOf.get(name),
      },
    })),
  );
}

/** Stands for all replicas. No name server knows this suffix. */
function nameOf(service: ServiceName): string {
  return `${service}.replicas.test`;
}

/** Migrates the tables of the services. */
export async function migrate(postgresUrl: string, timeoutMs: number): Promise<void> {
  await promisify(execFile)(process.execPath, [programOf('gatewayctl'), 'migrate'], {
    cwd: repositoryRoot,
    timeout: timeoutMs,
    env: { ...environmentOfPrograms, DATABASE_URL: postgresUrl },
  });
}

export const repositoryRoot = join(import.meta.dirname, '../..');

const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
const environmentOfPrograms = { PATH, HOME, NODE_COMPILE_CACHE };

interface Known extends ServicesSettings {
  readonly address: ServiceAddress;
  readonly urlOf: (peer: ServiceName) => string;
  readonly credentialUrl: string;
  readonly tokenHashKey: string;
  readonly accountKeys: string;
  readonly personKeys: string;
  readonly metricsUrls: string;
  readonly edgeUrl: string;
}

type AddressSettings = (known: Known) => Readonly<Record<string, string>>;

const adapterSettings: AddressSettings = ({ urlOf, credentialUrl }) => ({
  POOL_BROKER_URL: urlOf('pool-broker'),
  CREDENTIAL_URL: credentialUrl,
});

const ledgerSettings: AddressSettings = ({ backends }) => ({
  DATABASE_URL: backends.postgresUrl,
  NATS_URL: backends.natsUrl,
});

/** The addresses and secrets that each service needs. */
const addressSettings: Readonly<Record<ServiceName, AddressSettings>> = {
  'edge-router': ({ urlOf, address, backends }) => ({
    PORT: new URL(address.publicUrl ?? '').port,
    LIMITER_URL: urlOf('limiter'),
    POOL_BROKER_URL: urlOf('pool-broker'),
    RESPONSES_ADAPTER_URL: urlOf('responses-adapter'),
    MESSAGES_ADAPTER_URL: urlOf('messages-adapter'),
    IDENTITY_URL: urlOf('identity'),
    USAGE_QUERY_URL: urlOf('usage-query'),
    NATS_URL: backends.natsUrl,
    GATEWAY_DATA: address.dataFolder ?? '',
  }),
  'responses-adapter': adapterSettings,
  'messages-adapter': adapterSettings,
  limiter: ({ urlOf, backends }) => ({ REDIS_URL: backends.redisUrl, USAGE_QUERY_URL: urlOf('usage-query') }),
  'pool-broker': ({ backends, gatewayConfigFile, address, accountKeys }) => ({
    CREDENTIAL_PORT: new URL(address.credentialUrl ?? '').port,
    REDIS_URL: backends.redisUrl,
    DATABASE_URL: backends.postgresUrl,
    ACCOUNT_KEYS: accountKeys,
    ...(gatewayConfigFile === undefined ? {} : { GATEWAY_CONFIG: gatewayConfigFile }),
  }),
  identity: ({ backends, tokenHashKey }) => ({ DATABASE_URL: backends.postgresUrl, TOKEN_HASH_KEY: tokenHashKey }),
  'usage-ingest': ledgerSettings,
  'usage-query': ledgerSettings,
  admin: ({ urlOf, backends, address, personKeys, metricsUrls, edgeUrl }) => ({
    DATABASE_URL: backends.postgresUrl,
    PERSON_KEYS: personKeys,
    ADMIN_TOKEN: address.adminToken ?? '',
    IDENTITY_URL: urlOf('identity'),
    LIMITER_URL: urlOf('limiter'),
    POOL_BROKER_URL: urlOf('pool-broker'),
    USAGE_QUERY_URL: urlOf('usage-query'),
    USAGE_INGEST_URL: urlOf('usage-ingest'),
    RESPONSES_ADAPTER_URL: urlOf('responses-adapter'),
    MESSAGES_ADAPTER_URL: urlOf('messages-adapter'),
    METRICS_URLS: metricsUrls,
    EDGE_URL: edgeUrl,
  }),
};

async function temporaryFolder(stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-services-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
