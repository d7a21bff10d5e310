import { join } from 'node:path';
import type { ProcessPlan } from '../processes/managed-process.ts';
import { adminUrl, type ServiceName, serviceEnvironment, type TopologyAddresses } from './service-environment.ts';

/** What is said of the process of a service besides its addresses. */
export interface ServiceOptions {
  /** Further settings of every service. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Settings of single services, which win over all others: a peer behind a proxy, for example. */
  readonly envOf?: Partial<Readonly<Record<ServiceName, Readonly<Record<string, string>>>>> | undefined;
  /** How long running requests may go on after a stop. Default: 10 s. */
  readonly drainTimeoutSeconds?: number | undefined;
  /** Is given every line that a service logs. */
  readonly onLine?: ((service: ServiceName, line: string) => void) | undefined;
  /** Called when a service ends that was neither stopped nor killed here. It is not started again. */
  readonly onUnexpectedEnd?: ((service: ServiceName, how: string) => void) | undefined;
}

/** How the process of a service is started, known to be ready, and stopped. */
export function servicePlan(name: ServiceName, addresses: TopologyAddresses, options: ServiceOptions): ProcessPlan {
  const drainTimeoutSeconds = options.drainTimeoutSeconds ?? 10;
  return {
    name,
    command: process.execPath,
    parameters: [join(repositoryRoot, 'services', name, 'src/main.ts')],
    env: {
      ...environmentOfPrograms(),
      DRAIN_TIMEOUT_SECONDS: String(drainTimeoutSeconds),
      ...options.env,
      ...serviceEnvironment(name, addresses),
      ...options.envOf?.[name],
    },
    cwd: repositoryRoot,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: (drainTimeoutSeconds + 5) * 1_000,
    ping: () => askReadiness(adminUrl(addresses, name)),
    onLine: (line) => options.onLine?.(name, line),
    onUnexpectedEnd: (how) => options.onUnexpectedEnd?.(name, how),
  };
}

export const repositoryRoot = join(import.meta.dirname, '../../../..');

export function environmentOfPrograms(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: process.env.HOME };
}

async function askReadiness(url: string): Promise<void> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
  const text = await response.text();
  if (!response.ok) throw new Error(text.trim());
}
