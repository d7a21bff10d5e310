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
  for (const setting of settings) {
    const url = new EnvReader(env).optional(setting);
    if (url === undefined) continue;
    void Promise.all(backendServers(setting, url).map(tryToConnect)).then((reasons) => {
      const [reason] = reasons;
      // One of several servers is enough.
      if (reason !== undefined && !reasons.includes(undefined)) logger.warn(unreachableText(setting, url, reason));
    });
  }
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
