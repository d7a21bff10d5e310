import { checkDatabaseSettings, openGatewayDatabase } from '@gateway/all-in-one/gateway-database';
import { checkIdentityKeys, readIdentityKeys } from '@gateway/all-in-one/identity-keys';
import { checkAll, type Environment } from '@gateway/config';
import { migrate } from '@gateway/database';
import { createIdentityService } from '@gateway/identity/service';
import { readGatewayConfig } from '@gateway/pool-broker/config';
import { readCredentialConfig } from '@gateway/pool-broker/credentials/credential-config';
import { credentialStorage, withStoredAccounts } from '@gateway/pool-broker/credentials/credential-storage';
import { createPoolBrokerService } from '@gateway/pool-broker/service';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { systemClock } from '@gateway/time';
import type { ControlPlane } from './control-plane.ts';

/** The services that commands need, in this process, on the gateway's own database and files. */
export async function openLocalDatabase(env: Environment): Promise<ControlPlane> {
  await checkAll([
    () => checkIdentityKeys(env),
    () => readCredentialConfig(env),
    () => readGatewayConfig(env),
    () => checkDatabaseSettings(env),
  ]);
  await using stack = new AsyncDisposableStack();
  const runtime = { logger: createLogger('gatewayctl', 'warn'), metrics: new Metrics() };
  const { handle: database, kind, description } = stack.use(await openGatewayDatabase(env));
  if (kind === 'embedded') await migrate(database);
  const identity = stack.use(createIdentityService(await readIdentityKeys(env), { database }, runtime));
  const storage = credentialStorage(readCredentialConfig(env), { database }, systemClock);
  const gateway = await withStoredAccounts(readGatewayConfig(env), storage);
  const broker = stack.use(createPoolBrokerService({ gateway }, runtime, { store: new MemoryPoolStore(systemClock) }));
  const open = stack.move();
  return {
    database: description,
    identity: directClientOf(identity.routes, IdentityService),
    broker: directClientOf(broker.routes, PoolBrokerService),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
