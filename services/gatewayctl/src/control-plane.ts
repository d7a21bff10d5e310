import { randomBytes } from 'node:crypto';
import type { DescService } from '@bufbuild/protobuf';
import {
  checkIdentityKeys,
  openGatewayDatabase,
  readDatabaseUrl,
  readIdentityKeys,
} from '@gateway/all-in-one/gateway-database';
import { ConfigError, checkAll, type Environment, EnvReader, readTlsFiles } from '@gateway/config';
import { type GatewayDatabase, migrate, pendingMigrations } from '@gateway/database';
import { hashKeyOf } from '@gateway/identity/hashing/hash-key';
import { createIdentityService } from '@gateway/identity/service';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { readCredentialConfig, readGatewayConfig } from '@gateway/pool-broker/config';
import { withStoredAccounts } from '@gateway/pool-broker/credentials/account-directory';
import { AccountTable } from '@gateway/pool-broker/credentials/account-table';
import { createPoolBrokerService } from '@gateway/pool-broker/service';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterOperatorService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { type Client, directClientOf, type ServiceRoute } from '@gateway/rpc';
import { connectClient } from '@gateway/rpc/connect-client';
import { createLogger, Metrics } from '@gateway/telemetry';
import { systemClock } from '@gateway/time';
import { readUsageIngestConfig } from '@gateway/usage-ingest/config';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { createUsageQueryService } from '@gateway/usage-query/service';

// What commands work on: a running gateway over its admin port; or, when none runs, the same services in this process on its
// database and files.

/** Admin addresses of stand-alone services; by default they are the running gateway's. */
export interface ServiceAddresses {
  readonly limiter?: string;
  readonly identity?: string;
}

/** Every command's calls end by then. */
export const callOptions = { timeoutMs: 10_000 };

export type ControlPlane = Awaited<ReturnType<typeof openControlPlane>>;

/** What the commands on tokens, pools and accounts work on. */
export async function openControlPlane(env: Environment) {
  const checkSettings = () =>
    checkAll([
      () => checkIdentityKeys(env),
      () => readCredentialConfig(env),
      () => readGatewayConfig(env),
      () => readDatabaseUrl(env),
    ]);
  const createServices = async (handle: GatewayDatabase, runtime: ServiceRuntime) => {
    const gateway = await withStoredAccounts(readGatewayConfig(env), readCredentialConfig(env).keys, handle);
    return [
      createIdentityService(await readIdentityKeys(env), { database: handle }, runtime),
      createPoolBrokerService({ gateway }, runtime, { store: new MemoryPoolStore(systemClock) }),
    ];
  };
  const { database, clientOf, ...open } = await openServices(env, createServices, checkSettings);
  return {
    ...open,
    /** In words for a person, when no gateway runs; undefined for a running gateway. */
    database: database?.description,
    identity: clientOf(IdentityService),
    broker: clientOf(PoolBrokerService),
  };
}

export type UsagePlane = Awaited<ReturnType<typeof openUsagePlane>>;

/** What the commands on usage and requests work on. Calls of identity and the limiter may be unimplemented. */
export async function openUsagePlane(env: Environment, addresses: ServiceAddresses = {}) {
  for (const name of ['limiter', 'identity'] as const) {
    if (/^https?:\/\//.test(addresses[name] ?? 'http://')) continue;
    throw new ConfigError([`--${name} is not a URL. For example: --${name} http://127.0.0.1:9090`]);
  }
  const { database, clientOf, ...open } = await openServices(env, async (handle, runtime) => [
    createUsageQueryService(readUsageQueryConfig(env), { database: handle }, runtime),
    createUsageIngestService(readUsageIngestConfig(env), { database: handle }, runtime),
    // Tokens are only listed, which takes no key: a made-up one does.
    createIdentityService({ hashKeys: [hashKeyOf(randomBytes(32))] }, { database: handle }, runtime),
  ]);
  const isLimiterKnown = database === undefined || addresses.limiter !== undefined;
  return {
    ...open,
    report: clientOf(UsageReportService),
    ledger: clientOf(UsageLedgerService),
    identity: clientOf(IdentityService, addresses.identity),
    /** Undefined when none is known. */
    limiter: isLimiterKnown ? clientOf(LimiterOperatorService, addresses.limiter) : undefined,
    /** False where a limiter could only be in the gateway's own process, and none runs. */
    countersMayExist: database?.kind !== 'embedded',
  };
}

/** Clients of the running gateway; when none runs, of services in this process on its database. Another address may be named for each. */
async function openServices(
  env: Environment,
  createServices: (database: GatewayDatabase, runtime: ServiceRuntime) => Promise<readonly Service[]>,
  checkSettings = async () => {},
) {
  const connect = adminClients(env);
  const gateway = await findGateway(env);
  await using stack = new AsyncDisposableStack();
  let database: Awaited<ReturnType<typeof openCurrentDatabase>> | undefined;
  let routes: readonly ServiceRoute[] = [];
  if (gateway === undefined) {
    await checkSettings();
    database = stack.use(await openCurrentDatabase(env));
    const runtime = { logger: createLogger('gatewayctl', 'warn'), metrics: new Metrics() };
    const services = await createServices(database.handle, runtime);
    routes = services.flatMap((service) => stack.use(service).routes);
  }
  const open = stack.move();
  return {
    /** Undefined for a running gateway. */
    database,
    clientOf<S extends DescService>(service: S, address = gateway): Client<S> {
      return address === undefined ? directClientOf(routes, service) : connect(service, address);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** The accounts in the gateway's database: reached there and nowhere else, so that no secret travels to a service. @throws ConfigError */
export async function openStoredAccounts(env: Environment) {
  if (!knowsTheDatabase(env)) {
    throw new ConfigError([
      "Accounts are changed in the gateway's database, not by way of GATEWAY_ADMIN_URL. Set DATABASE_URL to its database too (or GATEWAY_DATA to its folder).",
    ]);
  }
  const opened = await openCurrentDatabase(env);
  return { ...opened, table: new AccountTable(opened.handle) };
}

/** A gateway that is named by its address may run on another machine, with another database. */
export function knowsTheDatabase(env: Environment): boolean {
  const reader = new EnvReader(env);
  const isNamed = (name: string) => reader.optional(name) !== undefined;
  return isNamed('DATABASE_URL') || isNamed('GATEWAY_DATA') || !isNamed('GATEWAY_ADMIN_URL');
}

/** Makes clients of admin ports: with the certificate of TLS_CERT_FILE, TLS_KEY_FILE and TLS_CA_FILE, where they are set. @throws ConfigError */
export function adminClients(env: Environment) {
  const reader = new EnvReader(env);
  const tls = readTlsFiles(reader);
  reader.done();
  return <S extends DescService>(service: S, url: string): Client<S> =>
    connectClient(service, url, url.startsWith('https:') ? tls : undefined);
}

/** The gateway's database, with its tables up to date. @throws ConfigError when a shared one is not. */
async function openCurrentDatabase(env: Environment) {
  const opened = await openGatewayDatabase(env);
  const { handle, kind, description } = opened;
  if (kind === 'embedded') await migrate(handle);
  else if ((await pendingMigrations(handle)).length > 0) {
    await opened[Symbol.asyncDispose]();
    throw new ConfigError([`${description} is not up to date. Run gatewayctl migrate first.`]);
  }
  return opened;
}

/**
 * The admin address of the gateway at GATEWAY_ADMIN_URL, which need not answer here: the database could be another one; else of the
 * one at the default address, if it answers. Undefined: work on the database.
 */
export async function findGateway(env: Environment): Promise<string | undefined> {
  const reader = new EnvReader(env);
  const named = reader.optionalUrl('GATEWAY_ADMIN_URL', 'http://127.0.0.1:9090', ['http', 'https']);
  const adminPort = reader.port('ADMIN_PORT', 9090);
  reader.done();
  if (named !== undefined) return named;
  const usual = `http://127.0.0.1:${adminPort}`;
  const answers = await fetch(`${usual}/livez`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  return answers?.ok ? usual : undefined;
}

/** All pages of a long answer, one after the other. */
export async function* pagesOf<T extends { readonly nextPageToken: string }>(
  ask: (pageToken: string) => Promise<T>,
): AsyncGenerator<T> {
  let pageToken = '';
  do {
    const page = await ask(pageToken);
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}
