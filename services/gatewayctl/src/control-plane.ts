import { ConfigError, type Environment, EnvReader } from '@gateway/config';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterOperatorService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { Client } from '@gateway/rpc';
import { connectClient } from '@gateway/rpc/connect-client';

/** What commands work on: a running gateway, or its database and files when none runs. */
export interface ControlPlane extends AsyncDisposable {
  /** The database, in words for a person, when no gateway runs; undefined for a running gateway. */
  readonly database: string | undefined;
  readonly identity: Client<typeof IdentityService>;
  readonly broker: Client<typeof PoolBrokerService>;
}

/** What the commands on usage and requests work on. */
export interface UsagePlane extends AsyncDisposable {
  readonly report: Client<typeof UsageReportService>;
  readonly ledger: Client<typeof UsageLedgerService>;
  /** Any of its calls may be unimplemented: see `isUnimplemented`. */
  readonly identity: Client<typeof IdentityService>;
  /** Undefined when no limiter is known; else, its calls may be unimplemented. */
  readonly limiter: Client<typeof LimiterOperatorService> | undefined;
  /** False where a limiter could only be in the gateway's own process, and none runs. */
  readonly countersMayExist: boolean;
}

/** Admin addresses of stand-alone services; by default they are the running gateway's. */
export interface ServiceAddresses {
  readonly limiter?: string;
  readonly identity?: string;
}

/** Every command's calls end by then. */
export const callOptions = { timeoutMs: 10_000 };

export async function openControlPlane(env: Environment): Promise<ControlPlane> {
  const url = await findGateway(env);
  if (url === undefined) return (await import('./local-services.ts')).openLocalGateway(env);
  return {
    database: undefined,
    identity: connectClient(IdentityService, url),
    broker: connectClient(PoolBrokerService, url),
    async [Symbol.asyncDispose]() {},
  };
}

export async function openUsagePlane(env: Environment, addresses: ServiceAddresses = {}): Promise<UsagePlane> {
  for (const name of ['limiter', 'identity'] as const) {
    if (/^https?:\/\//.test(addresses[name] ?? 'http://')) continue;
    throw new ConfigError([`--${name} is not a URL. For example: --${name} http://127.0.0.1:9090`]);
  }
  const url = await findGateway(env);
  if (url === undefined) return (await import('./local-services.ts')).openLocalUsage(env, addresses);
  return {
    report: connectClient(UsageReportService, url),
    ledger: connectClient(UsageLedgerService, url),
    identity: connectClient(IdentityService, addresses.identity ?? url),
    limiter: connectClient(LimiterOperatorService, addresses.limiter ?? url),
    countersMayExist: true,
    async [Symbol.asyncDispose]() {},
  };
}

/** All pages of a long answer, one after the other. */
export async function* pagesOf<T extends { readonly nextPageToken: string }>(
  ask: (pageToken: string) => Promise<T>,
): AsyncGenerator<T> {
  let page = await ask('');
  yield page;
  while (page.nextPageToken !== '') {
    page = await ask(page.nextPageToken);
    yield page;
  }
}

/**
 * The admin address of the gateway to work on: the one at GATEWAY_ADMIN_URL; else the one at the default address, if it
 * answers. Undefined: work on the database. A GATEWAY_ADMIN_URL that is set but does not answer is an error of the first
 * call: the database could be another one.
 */
export async function findGateway(env: Environment): Promise<string | undefined> {
  const reader = new EnvReader(env);
  const named = reader.optionalUrl('GATEWAY_ADMIN_URL', 'http://127.0.0.1:9090', ['http', 'https']);
  const adminPort = reader.port('ADMIN_PORT', 9090);
  reader.done();
  if (named !== undefined) return named;
  const usual = `http://127.0.0.1:${adminPort}`;
  return (await answers(usual)) ? usual : undefined;
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/livez`, { signal: AbortSignal.timeout(1_000) })).ok;
  } catch {
    return false;
  }
}
