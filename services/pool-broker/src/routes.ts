import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { acquire } from './rpc/acquire.ts';
import { enableAccount } from './rpc/enable-account.ts';
import { explain } from './rpc/explain.ts';
import { getCredential } from './rpc/get-credential.ts';
import { listAccounts } from './rpc/list-accounts.ts';
import { listModels } from './rpc/list-models.ts';
import { listPools } from './rpc/list-pools.ts';
import { renewLeases } from './rpc/renew-leases.ts';
import { report } from './rpc/report.ts';
import { reportModels } from './rpc/report-models.ts';
import { watchCatalog } from './rpc/watch-catalog.ts';
import type { Broker } from './selection/broker.ts';

export function poolBrokerRoute(broker: Broker): ServiceRoute<typeof PoolBrokerService> {
  return serviceRoute(PoolBrokerService, {
    acquire: acquire(broker),
    report: report(broker),
    renewLeases: renewLeases(broker),
    listModels: listModels(broker),
    watchCatalog: watchCatalog(broker),
    listPools: listPools(broker),
    reportModels: reportModels(broker),
    enableAccount: enableAccount(broker),
    listAccounts: listAccounts(broker),
    explain: explain(broker),
  });
}

/** A service of its own, so that the network can keep it to the adapters. */
export function credentialRoute(broker: Broker): ServiceRoute<typeof CredentialService> {
  return serviceRoute(CredentialService, { getCredential: getCredential(broker) });
}
