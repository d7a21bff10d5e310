import { type Environment, EnvReader } from '@gateway/config';
import type { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import { openRunningGateway } from './running-gateway.ts';

/** What commands work on: a running gateway, or its database and files when none runs. */
export interface ControlPlane extends AsyncDisposable {
  readonly identity: Client<typeof IdentityService>;
  readonly broker: Client<typeof PoolBrokerService>;
}

/** Every command's calls end by then. */
export const callOptions = { timeoutMs: 10_000 };

/**
 * The running gateway at GATEWAY_ADMIN_URL; else the one at the default address, if it answers; else the database.
 * A GATEWAY_ADMIN_URL that is set but does not answer is an error: the database could be another one.
 */
export async function openControlPlane(env: Environment): Promise<ControlPlane> {
  const reader = new EnvReader(env);
  const named = reader.optionalUrl('GATEWAY_ADMIN_URL', 'http://127.0.0.1:9090', ['http', 'https']);
  const adminPort = reader.port('ADMIN_PORT', 9090);
  reader.done();
  if (named !== undefined) return openRunningGateway(named);
  const usual = `http://127.0.0.1:${adminPort}`;
  if (await answers(usual)) return openRunningGateway(usual);
  const { openLocalDatabase } = await import('./local-database.ts');
  return openLocalDatabase(env);
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(1_000) });
    return response.ok;
  } catch {
    return false;
  }
}
