import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ManagedProcess,
  mapServices,
  type ServiceAddress,
  type ServiceName,
  serviceGroups,
  serviceNames,
} from '@gateway/testkit';
import { certificateFiles } from './dev-certificates.ts';
import { migrate, type PlannedService, planServices, repositoryRoot, type ServicesSettings } from './service-plan.ts';

export interface RunOptions extends ServicesSettings {
  /** How long running requests may continue after a stop. */
  readonly drainTimeoutSeconds: number;
  /** How long a service may take to be ready while it makes progress. */
  readonly startTimeoutMs: number;
  /** Called every few seconds with the services that are not ready, and why. */
  readonly onWaiting?: (reasons: ReadonlyMap<ServiceName, string>) => void;
  /** Called with every log line of a service. */
  readonly onLine: (service: ServiceName, line: string) => void;
  /** Called when a service ends that was neither stopped nor killed here. It is not restarted. */
  readonly onUnexpectedEnd: (service: ServiceName, index: number, how: string) => void;
}

export interface RunningService extends ServiceAddress {
  readonly process: ManagedProcess;
}

/** Every process of each service. */
export type RunningServices = Readonly<Record<ServiceName, readonly RunningService[]>>;

/**
 * Migrates the database and starts every service; resolves when all are ready. `stack` stops them,
 * callers before the services they call.
 *
 * @throws Error with the last lines of the service that could not start; the signal's reason once
 * it is aborted.
 */
export async function runServices(
  options: RunOptions,
  stack: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<RunningServices> {
  const planned = await planServices(options, stack);
  await migrate(options.backends.postgresUrl, options.startTimeoutMs);
  const waiting = new Map<ServiceName, string>();
  const services = mapServices((name) =>
    planned[name].map((plan, index) => ({
      ...plan.address,
      process: stack.use(new ManagedProcess(processPlan(name, index, plan, options, waiting))),
    })),
  );
  stack.defer(() => stopInOrder(services));
  signal.throwIfAborted();
  const starts = serviceNames.flatMap((name) =>
    services[name].map(async ({ process }) => {
      await process.restart();
      waiting.delete(name);
    }),
  );
  const timer = setInterval(() => waiting.size > 0 && options.onWaiting?.(waiting), waitingToldMs);
  try {
    await allStarted(starts, signal);
  } finally {
    clearInterval(timer);
  }
  return services;
}

const waitingToldMs = 5_000;

function processPlan(
  name: ServiceName,
  index: number,
  { program, env, address }: PlannedService,
  options: RunOptions,
  waiting: Map<ServiceName, string>,
) {
  return {
    name,
    command: process.execPath,
    parameters: [program],
    env: { DRAIN_TIMEOUT_SECONDS: String(options.drainTimeoutSeconds), ...env },
    cwd: repositoryRoot,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: (options.drainTimeoutSeconds + 5) * 1_000,
    ping: () => askReadiness(address.adminUrl, options.certificates),
    startLimits: { totalMs: options.startTimeoutMs },
    onWait: (reason: string) => void waiting.set(name, reason),
    onLine: (line: string) => options.onLine(name, line),
    onUnexpectedEnd: (how: string) => options.onUnexpectedEnd(name, index, how),
  } as const;
}

/** @throws the reason if a process is not ready. */
export async function askReadiness(url: string, certificates: string | undefined): Promise<void> {
  const ca = certificates === undefined ? undefined : await readFile(certificateFiles(certificates, 'admin').caFile);
  const get = ca === undefined ? http.get : https.get;
  const request = get(`${url}/readyz`, { ca, signal: AbortSignal.timeout(2_000), agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const problem = await text(response);
  if (response.statusCode !== 200) throw new Error(problem.trim());
}

/**
 * After one failure it waits for the others only briefly: several services often have the same
 * problem.
 */
async function allStarted(starts: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  const failures: Error[] = [];
  for (const start of starts) {
    start.catch((thrown) => failures.push(thrown instanceof Error ? thrown : new Error(String(thrown))));
  }
  try {
    await Promise.race([Promise.all(starts), once(signal, 'abort')]);
    signal.throwIfAborted();
  } catch {
    signal.throwIfAborted();
    await Promise.race([Promise.allSettled(starts), sleep(furtherFailuresMs)]);
    throw new AggregateError(failures, failures.map(({ message }) => message).join('\n'));
  }
}

const furtherFailuresMs = 2_000;

async function stopInOrder(services: RunningServices): Promise<void> {
  for (const group of serviceGroups) {
    await Promise.all(group.flatMap((name) => services[name].map(({ process }) => process.stop())));
  }
}
