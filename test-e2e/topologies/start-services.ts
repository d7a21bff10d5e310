import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  firstOfEach,
  mapServices,
  type ProcessControl,
  type ServiceAddress,
  type ServiceName,
  type ServiceOrder,
  type ServiceReport,
  type ServicesStarted,
  serviceNames,
} from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { createTokenText } from '@gateway/tokens';
import { type Operator, operatorByServices } from '../client/operator.ts';
import { type RunningCommand, startCommand } from './gateway-process.ts';

export interface StartOptions {
  /** All variables of the environment, except PORT and the places of state. */
  readonly env: Readonly<Record<string, string>>;
  /** A folder: services speak TLS with certificates that are created there. */
  readonly certificates?: string | undefined;
  /** The number of processes of a service; one of each by default. */
  readonly replicas?: Partial<Readonly<Record<ServiceName, number>>>;
  /** Settings of single services, which override all others: a peer behind a proxy, for example. */
  readonly envOf?: Partial<Readonly<Record<ServiceName, Readonly<Record<string, string>>>>>;
  /** Called with every log line of a service. */
  readonly onLine?: (service: ServiceName, line: string) => void;
  /** Called when a service ends that was neither stopped nor killed here. It is not restarted. */
  readonly onUnexpectedEnd?: (service: ServiceName, how: string) => void;
}

/** One process of a service. Restarts keep its ports and its folder. */
export interface ServiceReplica extends ProcessControl, ServiceAddress {}

/**
 * All services, each in processes of its own on loopback. Disposing stops them, callers before the
 * services they call.
 */
export interface RunningServices extends AsyncDisposable {
  readonly command: RunningCommand;
  readonly operator: Operator;
  /** `http://127.0.0.1:<port>` of the public API. */
  readonly baseUrl: string;
  readonly adminUrls: Readonly<Record<ServiceName, string>>;
  readonly grpcUrls: Readonly<Record<ServiceName, string>>;
  /** The first process of each service. */
  readonly services: Readonly<Record<ServiceName, ServiceReplica>>;
  /**
   * Every process of each service. The second of a service calls the second of its peers, if there
   * is one.
   */
  readonly replicas: Readonly<Record<ServiceName, readonly ServiceReplica[]>>;
}

/**
 * Runs what `npm run start:services` runs, and resolves when all services are ready. @throws Error
 * with its output.
 */
export async function startServices(options: StartOptions): Promise<RunningServices> {
  const replicas = Object.entries(options.replicas ?? {}).flatMap(([name, count]) => [
    '--replicas',
    `${name}=${count}`,
  ]);
  const settings = Object.entries(options.envOf ?? {}).flatMap(([service, env]) =>
    Object.entries(env).flatMap(([name, value]) => ['--set', `${service}.${name}=${value}`]),
  );
  const tls = options.certificates === undefined ? [] : ['--tls', '--certificates', options.certificates];
  const env = { ADMIN_TOKEN: createTokenText('operator'), ...options.env };
  const command = runStartServices(env, [...tls, ...replicas, ...settings], options.onLine);
  const [started] = await Promise.race([
    once(command.child, 'message') as Promise<[ServicesStarted]>,
    command.ended.then(({ stderr }) => Promise.reject(new Error(`start:services did not start:\n${stderr}`))),
  ]);
  const controls = controlsOf(command.child, started.replicas, options.onUnexpectedEnd);
  const services = firstOfEach(controls);
  const grpcUrls = firstOfEach(mapServices((name) => controls[name].map(({ grpcUrl }) => grpcUrl)));
  const operator = operatorByServices(grpcUrls, options.certificates);
  return {
    command,
    operator,
    baseUrl: services['edge-router'].publicUrl ?? '',
    adminUrls: firstOfEach(mapServices((name) => controls[name].map(({ adminUrl }) => adminUrl))),
    grpcUrls,
    services,
    replicas: controls,
    async [Symbol.asyncDispose]() {
      operator[Symbol.dispose]();
      await command[Symbol.asyncDispose]();
    },
  };
}

/**
 * Runs what `npm run start:services` runs. It and its services end with this process, even if this
 * one crashes.
 */
export function runStartServices(
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  onLine?: StartOptions['onLine'],
): RunningCommand {
  const onStderrLine = (text: string) => {
    const [, name = '', line = ''] = /^(\S+) +\| (.*)$/s.exec(text) ?? [];
    const service = serviceNames.find((each) => each === name);
    if (service !== undefined) onLine?.(service, line);
  };
  const options = { stopTimeoutMs: 60_000, ipc: true, ...(onLine === undefined ? {} : { onStderrLine }) };
  const { GATEWAY_PROGRAMS } = process.env;
  const programs: Record<string, string> = GATEWAY_PROGRAMS === undefined ? {} : { GATEWAY_PROGRAMS };
  const script = ['deploy/scripts/start-services.ts', ...args];
  // Many run beside each other.
  return startCommand(process.execPath, script, { ADMIN_PORT: '0', ...programs, ...env }, options);
}

function controlsOf(
  child: ChildProcess,
  started: ServicesStarted['replicas'],
  onUnexpectedEnd: StartOptions['onUnexpectedEnd'],
): RunningServices['replicas'] {
  const pending = new Map<number, (report: Extract<ServiceReport, { kind: 'done' }>) => void>();
  const pids = mapServices((name) => started[name].map(({ pid }) => pid));
  let orders = 0;
  child.on('message', (report: ServiceReport) => {
    if (report.kind === 'done') return pending.get(report.id)?.(report);
    pids[report.service][report.index] = undefined;
    onUnexpectedEnd?.(report.service, report.how);
  });
  const carryOut = async (order: Omit<ServiceOrder, 'id'>) => {
    const id = ++orders;
    const done = Promise.withResolvers<Extract<ServiceReport, { kind: 'done' }>>();
    pending.set(id, done.resolve);
    child.send({ id, ...order });
    const { pid, problem } = await done.promise;
    pending.delete(id);
    pids[order.service][order.index] = pid;
    if (problem !== undefined) throw new Error(problem);
  };
  return mapServices((service) =>
    started[service].map(
      ({ pid: _first, ...address }, index): ServiceReplica => ({
        ...address,
        get pid() {
          return pids[service][index];
        },
        stop: () => carryOut({ service, index, action: 'stop' }),
        kill: () => carryOut({ service, index, action: 'kill' }),
        pause: () => carryOut({ service, index, action: 'pause' }),
        resume: () => carryOut({ service, index, action: 'resume' }),
        restart: () => carryOut({ service, index, action: 'restart' }),
      }),
    ),
  );
}

/** The output of `npm run start:services` when all services run. */
export interface Welcome {
  readonly baseUrl: string;
  /** Undefined if the database is the operator's. */
  readonly token: string | undefined;
  /** The token for the console, unless it is the operator's own. */
  readonly adminToken: string | undefined;
  readonly adminUrls: Readonly<Record<ServiceName, string>>;
  readonly pids: Readonly<Record<ServiceName, number>>;
}

/**
 * Resolves with the welcome.
 *
 * @throws Error with its output, if it ends before.
 */
export async function welcomeOf(command: RunningCommand, timeoutMs = roomMs(120_000)): Promise<Welcome> {
  const hasEnded = command.ended.then(() => true);
  const giveUpAtMs = performance.now() + timeoutMs;
  while (!command.stdout().includes('\ncurl ')) {
    const pause = new Promise<false>((resolve) => setTimeout(() => resolve(false), 50));
    const isOver = (await Promise.race([hasEnded, pause])) || performance.now() > giveUpAtMs;
    if (isOver) throw new Error(`start:services did not start:\n${command.stderr()}`);
  }
  const text = command.stdout();
  const lines = mapServices((name) => lineOf(text, name));
  return {
    baseUrl: /listens on +(http:\S+)/.exec(text)?.[1] ?? '',
    token: /^ +Token +(gw_\w+)$/m.exec(text)?.[1],
    adminToken: /^ +Console +http\S+ +sign in with (gw_a_\w+)$/m.exec(text)?.[1],
    adminUrls: mapServices((name) => lines[name].adminUrl),
    pids: mapServices((name) => lines[name].pid),
  };
}

function lineOf(text: string, name: ServiceName): { readonly adminUrl: string; readonly pid: number } {
  const found = new RegExp(`^ +${name} +(http://\\S+) +\\S+ +(\\d+)$`, 'm').exec(text);
  if (found === null) throw new Error(`the welcome has no line for ${name}:\n${text}`);
  const [, adminUrl = '', pid = ''] = found;
  return { adminUrl, pid: Number(pid) };
}
