import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@gateway/testkit';
import { adminTokenIn, operatorByApi } from '../../client/operator.ts';
import { OwnProcess } from '../processes/own-process.ts';
import { untilConnectable } from '../processes/until-connectable.ts';
import { type PoolSize, writeGatewayFile } from './gateway-file.ts';
import { issueTokens } from './gateway-tokens.ts';
import type { System } from './system.ts';
import { untilReady } from './until-ready.ts';

const root = join(import.meta.dirname, '../../..');

export interface AllInOneOptions extends PoolSize {
  readonly inspect: boolean;
  readonly workers: string;
  readonly tokens?: number;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface AllInOneSystem extends System {
  readonly adminUrl: string;
  readonly adminToken: string;
}

/**
 * `gatewayctl start` with its defaults and embedded storage: one process, unless workers are
 * requested.
 */
export async function startAllInOne(
  providerPort: number,
  { inspect, workers, tokens: tokenCount = 16, env = {}, ...poolSize }: AllInOneOptions,
): Promise<AllInOneSystem> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'bench-all-in-one-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [port = 0, adminPort = 0, inspectorPort = 0] = await freePorts(3);
  const inspection = inspect ? [`--inspect=127.0.0.1:${inspectorPort}`] : [];
  const started = stack.use(
    await OwnProcess.start(process.execPath, [...inspection, 'services/gatewayctl/src/main.ts', 'start'], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        PORT: String(port),
        GATEWAY_WORKERS: workers,
        ADMIN_PORT: String(adminPort),
        GATEWAY_DATA: join(folder, 'data'),
        GATEWAY_CONFIG: await writeGatewayFile(folder, providerPort, poolSize),
        DRAIN_TIMEOUT_SECONDS: '5',
        ...env,
      },
    }),
  );
  await untilConnectable('The all-in-one', adminPort, started);
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  await untilReady(adminUrl);
  const adminToken = await adminTokenIn(join(folder, 'data'));
  const tokens = await issueTokens(operatorByApi({ adminUrl, adminToken }), tokenCount);
  const running = stack.move();
  return {
    name: 'all-in-one',
    port,
    adminUrl,
    adminToken,
    processes: [{ name: 'all-in-one', pid: started.pid, part: 'gateway' }],
    tokens,
    inspectorPorts: new Map(inspect ? [['all-in-one', inspectorPort]] : []),
    serves: () => true,
    headersFor: () => ({}),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
