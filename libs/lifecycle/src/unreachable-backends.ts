import { connect } from 'node:net';
import {
  type BackendSetting,
  backendServers,
  type Environment,
  EnvReader,
  type ServerAddress,
  unreachableText,
} from '@gateway/config';

const timeoutMs = 2_000;

/**
 * Which of these settings name servers that no connection can be made to, in words for a person. A process that works on
 * without them says so at its start: their clients try on in silence.
 */
export async function unreachableBackends(
  env: Environment,
  settings: readonly BackendSetting[],
): Promise<readonly string[]> {
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
