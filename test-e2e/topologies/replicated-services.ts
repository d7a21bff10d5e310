import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Simulator, type SimulatorOptions, startSimulator } from '@gateway/simulator';
import { freePort, type ServiceName, startNats, startPostgres, startRedis, type TestServer } from '@gateway/testkit';
import type { Operator } from '../client/operator.ts';
import { type RunningServices, type StartOptions, startServices } from './start-services.ts';
import { suiteSettings } from './topology.ts';

/** All services as processes, some of them twice, on servers of their own that tests may break. */
export interface ReplicatedServices extends AsyncDisposable {
  readonly replicas: RunningServices['replicas'];
  readonly operator: Operator;
  readonly redis: TestServer;
  readonly nats: TestServer;
  readonly postgres: TestServer;
  readonly simulator: Simulator;
  /** Services that ended by themselves, each with its last lines. */
  readonly unexpectedEnds: readonly string[];
}

export interface ReplicatedServicesOptions {
  readonly replicas: NonNullable<StartOptions['replicas']>;
  /** The pace of the providers' streams. */
  readonly eventDelayMs: number;
  readonly env: Readonly<Record<string, string>>;
  /** Further variables of single services. */
  readonly envOf?: StartOptions['envOf'];
  /** Replaces a NATS and a Postgres of one server each. The caller disposes of them. */
  readonly backends?: Backends;
  /** Further settings of the simulated providers. */
  readonly simulator?: SimulatorOptions;
  /** The text of gateway.yaml. Default: two accounts in each of two pools. */
  readonly gatewayFile?: (simulator: Simulator) => string;
  /** Called with every log line of a service. */
  readonly onLine?: (service: ServiceName, line: string) => void;
}

/** A server of each kind to break, with the URL of it and its siblings for the services. */
export interface Backends {
  readonly nats: TestServer;
  readonly natsUrl: string;
  readonly postgres: TestServer;
  readonly databaseUrl: string;
}

export async function startReplicatedServices(options: ReplicatedServicesOptions): Promise<ReplicatedServices> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-faults-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const simulator = stack.use(
    await startSimulator({ eventDelayMs: options.eventDelayMs, maximumRequests: 200_000, ...options.simulator }),
  );
  const redis = stack.use(await startRedis());
  const { nats, natsUrl, postgres, databaseUrl } = options.backends ?? (await startSingleServers(stack));
  const { gatewayFile = twoPools, onLine } = options;
  const gatewayConfigFile = join(folder, 'gateway.yaml');
  await writeFile(gatewayConfigFile, gatewayFile(simulator));
  const lastWords = new LastWords();
  const unexpectedEnds: string[] = [];
  const running = stack.use(
    await startServices({
      // Other tests cover the operators' API.
      replicas: { admin: 0, ...options.replicas },
      envOf: options.envOf ?? {},
      env: {
        ...suiteSettings,
        DRAIN_TIMEOUT_SECONDS: '3',
        ...options.env,
        PORT: String(await freePort()),
        GATEWAY_CONFIG: gatewayConfigFile,
        GATEWAY_DATA: join(folder, 'data'),
        TOKEN_HASH_KEY: randomBytes(32).toString('base64'),
        REDIS_URL: redis.url,
        NATS_URL: natsUrl,
        DATABASE_URL: databaseUrl,
      },
      onLine: (service, line) => {
        lastWords.note(service, line);
        onLine?.(service, line);
      },
      onUnexpectedEnd: (service, how) => unexpectedEnds.push(`${service} ${how}:\n${lastWords.of(service)}`),
    }),
  );
  const open = stack.move();
  return {
    replicas: running.replicas,
    operator: running.operator,
    redis,
    nats,
    postgres,
    simulator,
    unexpectedEnds,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function startSingleServers(stack: AsyncDisposableStack): Promise<Backends> {
  const [nats, postgres] = await Promise.all([startNats(), startPostgres()]);
  for (const server of [nats, postgres]) stack.use(server);
  return { nats, natsUrl: nats.url, postgres, databaseUrl: postgres.url };
}

/**
 * Two accounts in each pool, and a class of each kind: one that may fail over to the other format,
 * and one that can't.
 */
function twoPools({ url }: Simulator): string {
  return `settings: { model_list_refresh_seconds: 2 }
pools:
  responses: { format: responses, owned_by: provider_a, base_url: "${url}/v1" }
  messages: { format: messages, owned_by: provider_b, base_url: "${url}/v1" }
accounts:
  - { pool: responses, name: a, credential: { bearer: responses-a } }
  - { pool: responses, name: b, credential: { bearer: responses-b } }
  - { pool: messages, name: a, credential: { api_key: messages-a } }
  - { pool: messages, name: b, credential: { api_key: messages-b } }
classes:
  sterk: { name: Sterk, effort: low, candidates: [responses/gpt-5.5, messages/claude-opus-4-8] }
  claude: { name: Claude, effort: low, candidates: [messages/claude-sonnet-5] }
`;
}

/** The newest log lines of each service. */
class LastWords {
  readonly #lines = new Map<ServiceName, string[]>();

  note(service: ServiceName, line: string): void {
    const lines = this.#lines.get(service) ?? [];
    lines.push(line);
    this.#lines.set(service, lines.slice(-keptLines));
  }

  of(service: ServiceName): string {
    return (this.#lines.get(service) ?? []).join('\n');
  }
}

const keptLines = 20;
