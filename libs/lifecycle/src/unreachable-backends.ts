import { once } from 'node:events';
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
import { timeoutSignal } from '@gateway/time';

const timeoutMs = 2_000;

/**
 * Logs which of these settings name servers that can't be reached. A process that works without
 * them must say so at its start, because their clients retry silently. The start does not wait for
 * this check.
 */
export function warnOfUnreachableBackends(env: Environment, settings: readonly BackendSetting[], logger: Logger): void {
  for (const setting of settings) {
    const url = new EnvReader(env).optional(setting);
    if (url === undefined) continue;
    // One reachable server is enough.
    Promise.any(backendServers(setting, url).map(tryToConnect)).catch(({ errors: [reason] }: AggregateError) => {
      if (reason !== undefined) logger.warn(unreachableText(setting, url, reason));
    });
  }
}

/** @throws the reason, as a string, when no connection can be made. */
async function tryToConnect({ host, port }: ServerAddress): Promise<void> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: timeoutSignal(timeoutMs) });
  } catch (thrown) {
    const { name, code, message } = thrown as NodeJS.ErrnoException;
    throw name === 'AbortError' ? `no answer within ${timeoutMs / 1_000} s` : (code ?? message);
  } finally {
    socket.destroy();
  }
}
