import { ProcessReaper, type ServiceName, serviceNames } from '@gateway/testkit';
import { type RunningCommand, startCommand } from './gateway-process.ts';

/** What `npm run start:services` says once all services run. */
export interface Started {
  readonly baseUrl: string;
  /** Undefined when the database is the operator's. */
  readonly token: string | undefined;
  readonly adminUrls: Readonly<Record<ServiceName, string>>;
  /** `host:port`, or `-` for a service that has none. */
  readonly grpcAddresses: Readonly<Record<ServiceName, string>>;
  readonly pids: Readonly<Record<ServiceName, number>>;
}

/** Runs what `npm run start:services` runs. It and its services end with this process, even if this one crashes. */
export function runStartServices(env: Readonly<Record<string, string>>): RunningCommand {
  const command = startCommand(process.execPath, ['deploy/scripts/start-services.ts'], env, { stopTimeoutMs: 60_000 });
  const reaper = new ProcessReaper();
  reaper.watch(command.pid);
  const ended = command.ended.finally(async () => {
    reaper.watch(undefined);
    await reaper.dismiss();
  });
  return { ...command, ended };
}

/**
 * Resolves with the welcome.
 *
 * @throws Error with what it printed, when it ends before.
 */
export async function welcomeOf(command: RunningCommand, timeoutMs = 120_000): Promise<Started> {
  const hasEnded = command.ended.then(() => true);
  const giveUpAtMs = performance.now() + timeoutMs;
  while (!command.stdout().includes('\ncurl ')) {
    const pause = new Promise<false>((resolve) => setTimeout(() => resolve(false), 50));
    const isOver = (await Promise.race([hasEnded, pause])) || performance.now() > giveUpAtMs;
    if (isOver) throw new Error(`start:services did not start:\n${command.stderr()}`);
  }
  return parseWelcome(command.stdout());
}

function parseWelcome(text: string): Started {
  const lines = new Map(serviceNames.map((name) => [name, lineOf(text, name)]));
  const field = <T>(choose: (line: ServiceLine) => T) =>
    // Every service has a line, or `lineOf` has thrown.
    Object.fromEntries([...lines].map(([name, line]) => [name, choose(line)])) as Record<ServiceName, T>;
  return {
    baseUrl: /listens on +(http:\S+)/.exec(text)?.[1] ?? '',
    token: /^ +Token +(gw_\w+)$/m.exec(text)?.[1],
    adminUrls: field(({ adminUrl }) => adminUrl),
    grpcAddresses: field(({ grpcAddress }) => grpcAddress),
    pids: field(({ pid }) => pid),
  };
}

interface ServiceLine {
  readonly adminUrl: string;
  readonly grpcAddress: string;
  readonly pid: number;
}

function lineOf(text: string, name: ServiceName): ServiceLine {
  const found = new RegExp(`^ +${name} +(http://\\S+) +(\\S+) +(\\d+)$`, 'm').exec(text);
  if (found === null) throw new Error(`the welcome has no line for ${name}:\n${text}`);
  const [, adminUrl = '', grpcAddress = '', pid = ''] = found;
  return { adminUrl, grpcAddress, pid: Number(pid) };
}
