import { connect } from 'node:net';
import {
  type BackendSetting,
  backendServers,
  type Environment,
  EnvReader,
  type ServerAddress,
  unreachableText,
} from '@gateway/config';
import type { Logger } from '@gateway/telemetry';

const timeoutMs = 2_000;

/**
 * Logs which of these settings name servers that no connection can be made to. A process that works on without them says so
 * at its start: their clients try on in silence. The start does not wait for it.
 */
export function warnOfUnreachableBackends(env: Environment, settings: readonly BackendSetting[], logger: Logger): void {
  unreachableBackends(env, settings).then(
    (problems) => {
      for (const problem of problems) logger.warn(problem);
    },
    (fault) => logger.warn({ err: fault }, 'the servers of the settings could not be tried'),
  );
}

async function unreachableBackends(env: Environment, settings: readonly BackendSetting[]): Promise<readonly string[]> {
  const reader = new EnvReader(env);
  const problems = await Promise.all(
    settings.map(async (setting) => {
      const url = reader.optional(setting);
      if (url === undefined) return undefined;
      const reasons = await Promise.all(backendServers(setting, url).map(tryToConnect));
      // One of several servers is enough.
      const [reason] = reasons;
      return reason === undefined || reasons.includes(undefined) ? undefined : unreachableText(setting, url, reason);
    }),
  );
  return problems.filter((problem) => problem !== undefined);
}

/** Why no connection can be made; undefined when one can. */
function tryToConnect({ host, port }: ServerAddress): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (reason: string | undefined) => {
      socket.destroy();
      resolve(reason);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end(`no answer within ${timeoutMs / 1_000} s`));
    socket.once('error', (fault) => end('code' in fault ? String(fault.code) : fault.message));
  });
}
