import type { Environment } from '@gateway/config';
import type { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import { findGateway } from './find-gateway.ts';
import { openRunningGateway } from './running-gateway.ts';

/** What commands work on: a running gateway, or its database and files when none runs. */
export interface ControlPlane extends AsyncDisposable {
  /** The database, in words for a person, when no gateway runs; undefined for a running gateway. */
  readonly database: string | undefined;
  readonly identity: Client<typeof IdentityService>;
  readonly broker: Client<typeof PoolBrokerService>;
}

/** Every command's calls end by then. */
export const callOptions = { timeoutMs: 10_000 };

export async function openControlPlane(env: Environment): Promise<ControlPlane> {
  const url = await findGateway(env);
  if (url !== undefined) return openRunningGateway(url);
  const { openLocalDatabase } = await import('./local-database.ts');
  return openLocalDatabase(env);
}
