import { readFileSync } from 'node:fs';
import { backendUp, type Logger, type Metrics } from '@gateway/telemetry';
import { sleep } from '@gateway/time';
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  DebugEvents,
  Events,
  type NatsConnection,
  nkeyAuthenticator,
} from 'nats';
import type { NatsServers } from './nats-servers.ts';

const retryDelayMs = 1_000;

/** Where a connection reports its state. */
export interface NatsWatchers {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * A connection to one of several NATS servers that never gives up: it waits for a server that is
 * not up yet and reconnects, possibly to another one, for as long as it is open. It abandons a
 * server that stops answering within six seconds.
 *
 * @throws the signal's reason when it is aborted before there is a connection.
 */
export async function connectNats(
  servers: NatsServers,
  { logger, metrics }: NatsWatchers,
  signal?: AbortSignal,
): Promise<NatsConnection> {
  const isUp = backendUp(metrics, 'nats');
  const options = toConnectionOptions(servers, logger);
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      const connection = await connect(options);
      logger.info({ server: connection.getServer() }, 'connected to NATS');
      isUp(true);
      void watchStatus(connection, logger, isUp);
      return connection;
    } catch (thrown) {
      isUp(false);
      // Logged once: an outage of hours would otherwise fill the log.
      if (attempt === 1) logger.warn({ err: thrown }, 'NATS cannot be reached; retrying');
    }
    await sleep(retryDelayMs, { signal }).catch(() => undefined);
  }
}

function toConnectionOptions({ urls: texts, caFile, ...files }: NatsServers, logger: Logger): ConnectionOptions {
  const urls = texts.map((text) => new URL(text));
  // `user:password@` or `token@` in NATS URLs.
  const named = urls.find(({ username }) => username !== '');
  const [user = '', pass = ''] = [named?.username ?? '', named?.password ?? ''].map(decodeURIComponent);
  const authenticator = fileAuthenticator(files, logger);
  return {
    servers: urls.map(({ host }) => host),
    ...(user !== '' && (pass === '' ? { token: user } : { user, pass })),
    ...(authenticator !== undefined && { authenticator }),
    ...(urls.some(({ protocol }) => protocol === 'tls:') && { tls: caFile === undefined ? {} : { caFile } }),
    name: 'gateway',
    timeout: 5_000,
    maxReconnectAttempts: -1,
    reconnectTimeWait: retryDelayMs,
    reconnectJitterTLS: 100,
    // Refused credentials may be accepted after a file or the server's configuration is replaced.
    ignoreAuthErrorAbort: true,
    pingInterval: 2_000,
    maxPingOut: 2,
  };
}

/**
 * An unusable file counts as no credentials: the server refuses the connection, and the next
 * attempt reads the file again. An error would close the connection permanently.
 */
function fileAuthenticator(
  { credsFile, nkeyFile }: Pick<NatsServers, 'credsFile' | 'nkeyFile'>,
  logger: Logger,
): Authenticator | undefined {
  const file = credsFile ?? nkeyFile;
  if (file === undefined) return undefined;
  const read = () => readFileSync(file);
  const authenticate = credsFile === undefined ? nkeyAuthenticator(() => seedIn(read())) : credsAuthenticator(read);
  return (nonce) => {
    try {
      return authenticate(nonce);
    } catch (thrown) {
      logger.warn({ file, err: thrown }, 'the NATS credentials cannot be read; retrying');
    }
  };
}

/** Finds the seed of a user's nkey, alone on a line or among others. */
function seedIn(content: Buffer): Buffer {
  const seed = /\bSU[A-Z2-7]{56}\b/.exec(content.toString('latin1'))?.[0];
  if (seed === undefined)
    throw new Error("NATS_NKEY_FILE does not contain the seed of a user's nkey: 58 letters that begin with SU");
  return Buffer.from(seed);
}

/** Ends when the connection is closed. */
async function watchStatus(connection: NatsConnection, logger: Logger, isUp: (isUp: boolean) => void): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === Events.Disconnect || type === Events.Reconnect) isUp(type === Events.Reconnect);
    if (type === Events.Disconnect) logger.warn('lost the connection to NATS; reconnecting');
    if (type === Events.Reconnect) logger.info('reconnected to NATS');
    if (type === DebugEvents.StaleConnection) logger.warn('NATS does not answer');
  }
}

/** The value or the signal's reason, whichever comes first. */
export function orAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
