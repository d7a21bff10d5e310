import { ConfigError, type Environment, readSettings, readTlsFiles } from '@gateway/config';
import type { OnFault } from '@gateway/rpc';
import type { Channel, OnRefused, Refusal, Tls } from '@gateway/rpc/grpc';
import type { Logger } from '@gateway/telemetry';
import { cacheTime } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import type { ServiceRuntime } from './service.ts';

/**
 * Loads the files of TLS_CERT_FILE, TLS_KEY_FILE and TLS_CA_FILE; undefined if they are not set.
 * @throws ConfigError when the files are not usable.
 */
export async function openTls(env: Environment, logger: Logger): Promise<Tls | undefined> {
  const files = readSettings(env, readTlsFiles);
  if (files === undefined) return undefined;
  const { Tls } = await import('@gateway/rpc/grpc');
  const onUnusable = (err: Error) =>
    logger.error({ err }, 'certificates could not be reloaded; the previous ones stay in use');
  try {
    return new Tls({ ...files, onUnusable });
  } catch (thrown) {
    throw new ConfigError([`TLS: ${thrown instanceof Error ? thrown.message : thrown}`]);
  }
}

/** Opens channels to other services, over TLS if this process has it. `stack` closes them. */
export async function peerChannels({ logger, metrics, tls }: ServiceRuntime, stack: AsyncDisposableStack) {
  // Imported lazily, so that a process without a network never loads gRPC.
  const { openChannel } = await import('@gateway/rpc/grpc');
  return (service: string, url: string): Channel => {
    const onUnreachable = (address: string, { message }: Error) =>
      logger.warn({ peer: service, address, reason: message }, 'a service is unreachable');
    return stack.use(openChannel(url, { service, tls, metrics, onUnreachable }));
  };
}

/** Logs calls that fail with an internal error. */
export function faultLog(logger: Logger): OnFault {
  return (method, fault, requestId) =>
    logger.error({ method, request_id: requestId, err: fault }, 'internal error in a call');
}

/** Logs and counts refused connections and calls. Repeats are logged once a minute. */
export function refusalLog({ logger, metrics }: ServiceRuntime): OnRefused {
  const refusals = metrics.counter({
    name: 'gateway_rpc_refusals_total',
    help: 'Rejected connections without a valid certificate (connection), and calls that the call table does not allow their caller (call).',
    labels: ['reason'],
  });
  for (const reason of ['call', 'connection']) refusals.inc({ reason }, 0);
  const logged = new LRUCache<string, true>({ max: 100, ttl: 60_000, ...cacheTime });
  return (refusal: Refusal) => {
    const isCall = 'path' in refusal;
    refusals.inc({ reason: isCall ? 'call' : 'connection' });
    const key = isCall
      ? `${refusal.caller} ${refusal.path}`
      : `${refusal.address?.replace(/:\d+$/, '')} ${refusal.problem}`;
    if (logged.has(key)) return;
    logged.set(key, true);
    if (isCall) logger.warn({ ...refusal }, 'call rejected: the call table does not allow it');
    else logger.warn({ ...refusal }, 'TLS connection rejected');
  };
}
