import { ConfigError, type Environment } from '@gateway/config';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterOperatorService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { Client } from '@gateway/rpc';
import { connectClient } from '@gateway/rpc/connect-client';
import { findGateway } from './control-plane.ts';

/** What the commands on usage work on: the services of a running gateway, or its database when none runs. */
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

export async function openUsagePlane(env: Environment, addresses: ServiceAddresses = {}): Promise<UsagePlane> {
  for (const name of ['limiter', 'identity'] as const) {
    const url = addresses[name] ?? 'http://';
    if (/^https?:\/\//.test(url)) continue;
    throw new ConfigError([`--${name} is not a URL. For example: --${name} http://127.0.0.1:9090`]);
  }
  const gatewayUrl = await findGateway(env);
  if (gatewayUrl !== undefined) return openRunningUsage(gatewayUrl, addresses);
  const { openLocalUsage } = await import('./local-services.ts');
  return openLocalUsage(env, addresses);
}

/** A gateway that runs, or one service of it, reached over its admin port. */
function openRunningUsage(adminUrl: string, { limiter = adminUrl, identity = adminUrl }: ServiceAddresses): UsagePlane {
  return {
    report: connectClient(UsageReportService, adminUrl),
    ledger: connectClient(UsageLedgerService, adminUrl),
    identity: connectClient(IdentityService, identity),
    limiter: connectClient(LimiterOperatorService, limiter),
    countersMayExist: true,
    async [Symbol.asyncDispose]() {},
  };
}
