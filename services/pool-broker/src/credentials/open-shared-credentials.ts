import { systemClock } from '@gateway/time';
import { openRedisConnection } from '../store/redis-connection.ts';
import type { CredentialConfig } from './credential-config.ts';
import { type CredentialStorage, credentialStorage } from './credential-storage.ts';

export interface SharedBackends {
  readonly redisUrl: string;
  readonly redisCommandTimeoutMs: number;
  /** Undefined: there is no database. */
  readonly databaseUrl: string | undefined;
}

export interface OpenedCredentials extends AsyncDisposable {
  readonly storage: CredentialStorage;
}

/** What the replicas of a broker share of credentials, whether it is there at the moment or not. */
export async function openSharedCredentials(
  config: CredentialConfig,
  { redisUrl, redisCommandTimeoutMs, databaseUrl }: SharedBackends,
): Promise<OpenedCredentials> {
  await using stack = new AsyncDisposableStack();
  const redis = await openRedisConnection(redisUrl, redisCommandTimeoutMs);
  stack.defer(() => redis.disconnect());
  const database = databaseUrl === undefined ? undefined : stack.use(await openDatabase(databaseUrl));
  const storage = credentialStorage(config, { redis, database }, systemClock);
  const opened = stack.move();
  return { storage, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function openDatabase(url: string) {
  const { openPostgres } = await import('@gateway/database/postgres');
  return openPostgres(url, { applicationName: 'pool-broker', maxConnections: 4 });
}
