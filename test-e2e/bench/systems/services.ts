import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  freePort,
  freePorts,
  type ServiceName,
  serviceNames,
  startNats,
  startPostgres,
  startRedis,
  type TestServer,
} from '@gateway/testkit';
import { startServices } from '../../topologies/start-services.ts';
import type { WatchedProcess } from '../measure/processor-time.ts';
import { type PoolSize, writeGatewayFile } from './gateway-file.ts';
import { issueTokens } from './gateway-tokens.ts';
import type { System } from './system.ts';

/** Every service in a process, on Redis, NATS and Postgres of their own. */
export interface ServicesSystem extends System {
  /** `host:port` of the limiter's gRPC. */
  readonly limiterAddress: string;
  readonly natsUrl: string;
  readonly postgresUrl: string;
  /** Freezes usage-ingest, so that events wait for it, and thaws it. */
  readonly pauseIngest: () => Promise<void>;
  readonly resumeIngest: () => Promise<void>;
}

export async function startServicesSystem(
  providerPort: number,
  { inspect, ...poolSize }: PoolSize & { readonly inspect: boolean },
): Promise<ServicesSystem> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'bench-services-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [redis, nats, postgres] = await Promise.all([startRedis(), startNats(), startPostgres()]);
  for (const server of [redis, nats, postgres]) stack.use(server);
  const inspectorPorts = inspect ? await inspectorPortPerService() : new Map<ServiceName, number>();
  const services = stack.use(
    await startServices({
      // It has no part in requests.
      replicas: { admin: 0 },
      env: {
        PORT: String(await freePort()),
        GATEWAY_CONFIG: await writeGatewayFile(folder, providerPort, poolSize),
        GATEWAY_DATA: join(folder, 'data'),
        TOKEN_HASH_KEY: randomBytes(32).toString('base64'),
        REDIS_URL: redis.url,
        NATS_URL: nats.url,
        DATABASE_URL: postgres.url,
        DRAIN_TIMEOUT_SECONDS: '5',
      },
      envOf: Object.fromEntries(
        [...inspectorPorts].map(([name, port]) => [name, { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` }]),
      ),
      onUnexpectedEnd: (service, how) => process.stderr.write(`bench: ${service} ${how}\n`),
    }),
  );
  const tokens = await issueTokens(services.operator);
  const running = stack.move();
  return {
    name: 'services',
    port: Number(new URL(services.baseUrl).port),
    processes: [
      ...Object.entries(services.services).flatMap(([name, { pid }]) => watched(name, pid, 'gateway')),
      ...backendProcesses({ redis, nats, postgres }),
    ],
    tokens,
    inspectorPorts,
    limiterAddress: new URL(services.grpcUrls.limiter).host,
    natsUrl: nats.url,
    postgresUrl: postgres.url,
    pauseIngest: () => services.services['usage-ingest'].pause(),
    resumeIngest: () => services.services['usage-ingest'].resume(),
    serves: () => true,
    headersFor: () => ({}),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function inspectorPortPerService(): Promise<ReadonlyMap<ServiceName, number>> {
  const ports = await freePorts(serviceNames.length);
  return new Map(serviceNames.map((name, index) => [name, ports[index] ?? 0]));
}

function backendProcesses(servers: Readonly<Record<string, TestServer>>): readonly WatchedProcess[] {
  return Object.entries(servers).flatMap(([name, { pid }]) => watched(name, pid, 'backend'));
}

/** A server in a container has no process here that could be watched. */
function watched(name: string, pid: number | undefined, part: WatchedProcess['part']): readonly WatchedProcess[] {
  return pid === undefined ? [] : [{ name, pid, part }];
}
