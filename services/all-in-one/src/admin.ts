import { isIPv6 } from 'node:net';
import { firstOperatorName, OperatorStore } from '@gateway/admin/access/operators';
import { type AdminConfig, readAdminConfig, readSharedAdminConfig } from '@gateway/admin/config';
import { ownReplica } from '@gateway/admin/figures/replica-directory';
import { type AdminPeers, peersOf } from '@gateway/admin/parts';
import { type AdminService, createAdminService } from '@gateway/admin/service';
import { type Environment, Secret } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { directClientOf, type ServiceRoute } from '@gateway/rpc';
import { createTokenText } from '@gateway/tokens';
import type { AllInOneConfig } from './config.ts';
import { DataFolder } from './data-folder.ts';
import { readDatabaseUrl } from './gateway-database.ts';

interface AdminOptions {
  readonly env: Environment;
  readonly config: AllInOneConfig;
  readonly runtime: ServiceRuntime;
  readonly database: GatewayDatabase;
  /** The routes of all services in this process. */
  readonly routes: readonly ServiceRoute[];
  readonly adapters: AdminPeers['adapters'];
  /** The public port. */
  readonly edgePort: number;
  /** Why the gateway takes no requests. */
  readonly notReady: () => Promise<string | undefined>;
}

/** The operators' API and console, using the services of this process. */
export async function createAdmin({
  env,
  database,
  routes,
  adapters,
  ...options
}: AdminOptions): Promise<AdminService> {
  const { config, runtime, edgePort, notReady } = options;
  const address = `${config.adminHost}:${config.adminPort}`;
  const peers = {
    ...peersOf((service) => directClientOf(routes, service)),
    adapters,
    // With workers, the metrics of this process include theirs.
    replicas: ownReplica({ service: 'gateway', address, metrics: runtime.metrics, notReady }),
    edgeUrl: httpUrl(config.host, edgePort),
  };
  const settings = await readAdminSettings(env);
  const adminToken = settings.adminToken ?? (await ownAdminToken(env, database));
  return createAdminService({ ...settings, adminToken }, peers, { database }, runtime);
}

/**
 * The settings of the admin service. Without PERSON_KEYS, what the OpenID Connect provider gives
 * for people is encrypted with the key beside the embedded database. A shared database gets none:
 * every process on it needs the same key.
 */
export async function readAdminSettings(env: Environment): Promise<AdminConfig> {
  if (readDatabaseUrl(env) !== undefined) return readSharedAdminConfig(env);
  const settings = readAdminConfig(env);
  if (settings.oidc?.lookupMs === undefined || settings.personKeys.length > 0) return settings;
  const data = await DataFolder.open(env);
  return readAdminConfig({ ...env, PERSON_KEYS: await data.personKeys(), PERSON_KEYS_FILE: undefined });
}

/** The address at which this machine reaches a port of its own. */
export function httpUrl(host: string, port: number, scheme: 'http' | 'https' = 'http'): string {
  return `${scheme}://${own[host] ?? (isIPv6(host) ? `[${host}]` : host)}:${port}`;
}

/** Addresses that stand for all of a machine. */
const own: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };

/** The file with the first operator's token of a gateway on its embedded database. */
export const adminTokenFile = 'admin-token';

/**
 * The token with which the first operator of an embedded database, and gatewayctl on this machine,
 * sign in. It is created once, and again when the file is gone. A shared database gets its
 * operators from its owner: ADMIN_TOKEN.
 */
async function ownAdminToken(env: Environment, database: GatewayDatabase): Promise<Secret | undefined> {
  if (readDatabaseUrl(env) !== undefined) return undefined;
  const data = await DataFolder.open(env);
  const kept = await data.read(adminTokenFile);
  if (kept !== undefined) return new Secret(kept);
  const text = createTokenText('operator');
  const operators = new OperatorStore(database);
  const first = (await operators.list()).find(({ name }) => name === firstOperatorName);
  if (first !== undefined) await operators.rotate(first.operator_id, text, 0);
  await data.write(adminTokenFile, text);
  return new Secret(text);
}
