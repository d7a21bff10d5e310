import type { Environment } from '@gateway/config';
import { createDatabaseProbe, type GatewayDatabase } from '@gateway/database';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { ChangeFeed } from './changes/change-feed.ts';
import { defaultSessionLimits, type IdentityConfig, noPersonTokens, readIdentityProcessConfig } from './config.ts';
import { DeviceGrants } from './people/device-grants.ts';
import { PersonStore } from './people/person-store.ts';
import { PersonTokens } from './people/person-tokens.ts';
import { SessionAudit } from './people/session-audit.ts';
import { groupRoute, identityRoute, personRoutes } from './routes.ts';
import { GroupStore } from './store/group-store.ts';
import { TokenStore } from './store/token-store.ts';

/** Serves tokens from any database that has their tables. The caller closes the database. */
export function createIdentityService(
  { hashKeys, sessions: limits = defaultSessionLimits, personTokens: rules = noPersonTokens }: IdentityConfig,
  { database }: { readonly database: GatewayDatabase },
  { logger, metrics }: ServiceRuntime,
): Service {
  const store = new TokenStore(database);
  const groups = new GroupStore(database);
  const changes = new ChangeFeed(store, logger);
  const [people, grants] = [new PersonStore(database), new DeviceGrants(database)];
  const audit = new SessionAudit(database, logger);
  const draining = new AbortController();
  return {
    routes: [
      identityRoute({ store, groups, hashKeys, changes, metrics, draining: draining.signal }),
      groupRoute({ groups, changes }),
      ...personRoutes({
        ...{ people, grants, tokens: store, personTokens: new PersonTokens(database), hashKeys, limits, rules },
        ...{ audit, changes, metrics },
      }),
    ],
    start: async () => undefined,
    notReady: createDatabaseProbe(database),
    // Watches never end by themselves, so they are ended here: their callers move to another
    // replica.
    drain: async () => draining.abort(),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Identity as a process of its own, with the Postgres at DATABASE_URL. */
export async function createIdentityFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readIdentityProcessConfig(env);
  const { migratePostgres, openPostgres } = await import('@gateway/database/postgres');
  if (config.migrateAtStart) {
    runtime.logger.info({ migrations: await migratePostgres(config.databaseUrl) }, 'the tables are up to date');
  }
  const database = openPostgres(config.databaseUrl, { applicationName: 'identity', metrics: runtime.metrics });
  return {
    ...createIdentityService(config, { database }, runtime),
    [Symbol.asyncDispose]: () => database.destroy(),
  };
}
