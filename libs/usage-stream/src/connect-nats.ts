import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gateway/telemetry';
import { type ConnectionOptions, connect, DebugEvents, Events, type NatsConnection } from 'nats';

const retryDelayMs = 1_000;

/**
 * A connection to one of several NATS servers that never gives up: it waits for a server that is not there yet, and reconnects,
 * to another one if need be, for as long as it is open. A peer that stopped answering is noticed within about 30 seconds.
 *
 * @throws the signal's reason, when it is aborted before there is a connection.
 */
export async function connectNats(
  urls: readonly string[],
  logger: Logger,
  signal?: AbortSignal,
): Promise<NatsConnection> {
  const options = toConnectionOptions(urls);
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      const connection = await connect(options);
      logger.info({ server: connection.getServer() }, 'connected to NATS');
      void logStatus(connection, logger);
      return connection;
    } catch (thrown) {
      // Once is enough: an outage of hours would fill the log.
      if (attempt === 1) logger.warn({ err: thrown }, 'NATS can not be reached yet; trying on');
    }
    await sleep(retryDelayMs, undefined, { signal }).catch(() => undefined);
  }
}

function toConnectionOptions(texts: readonly string[]): ConnectionOptions {
  const urls = texts.map((text) => new URL(text));
  // `user:password@` or `token@`, as NATS URLs carry them.
  const named = urls.find(({ username }) => username !== '');
  const [user, pass] = [named?.username ?? '', named?.password ?? ''].map(decodeURIComponent);
  return {
    servers: urls.map(({ host }) => host),
    ...(user !== '' && (pass === '' ? { token: user } : { user, pass })),
    ...(urls.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
    name: 'gateway',
    timeout: 5_000,
    maxReconnectAttempts: -1,
    reconnectTimeWait: retryDelayMs,
    pingInterval: 10_000,
    maxPingOut: 2,
  };
}

/** Ends when the connection is closed. */
async function logStatus(connection: NatsConnection, logger: Logger): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === Events.Disconnect) logger.warn('lost the connection to NATS; reconnecting');
    if (type === Events.Reconnect) logger.info('reconnected to NATS');
    if (type === DebugEvents.StaleConnection) logger.warn('NATS stopped answering');
  }
}

/** The value, or the signal's reason, whichever comes first. */
export function orAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
