import type { Environment } from '@gateway/config';
import { createDatabaseProbe, type GatewayDatabase } from '@gateway/database';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { type Clock, systemClock } from '@gateway/time';
import { ChangeFeed } from './changes/change-feed.ts';
import { type IdentityConfig, readIdentityProcessConfig } from './config.ts';
import { TokenHasher } from './hashing/hash-key.ts';
import { identityRoute } from './routes.ts';
import { TokenStore } from './store/token-store.ts';

export interface IdentityPeers {
  /** Stays the caller's: identity does not close it. */
  readonly database: GatewayDatabase;
}

/** Tokens over any database that has their tables. */
export function createIdentityService(
  config: IdentityConfig,
  { database }: IdentityPeers,
  { logger, metrics }: ServiceRuntime,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Service {
  const store = new TokenStore(database);
  const hasher = new TokenHasher(config.hashKeys);
  const changes = new ChangeFeed(store, logger);
  return {
    routes: [identityRoute({ store, hasher, changes, clock, metrics })],
    start: async () => undefined,
    notReady: createDatabaseProbe(database),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Identity as a process of its own, over the Postgres at DATABASE_URL. */
export async function createIdentityFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readIdentityProcessConfig(env);
  const { migratePostgres, openPostgres } = await import('@gateway/database/postgres');
  if (config.migrateAtStart) {
    runtime.logger.info({ migrations: await migratePostgres(config.databaseUrl) }, 'the tables are up to date');
  }
  const database = openPostgres(config.databaseUrl, { applicationName: 'identity' });
  return {
    ...createIdentityService(config, { database }, runtime),
    [Symbol.asyncDispose]: () => database.destroy(),
  };
}
