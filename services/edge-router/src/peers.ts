import type { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { CreateLimiter } from './admission/admit.ts';
import type { UsageSink } from './usage/send-batch.ts';

/**
 * The services that the edge calls. It does not know which of them run in its process. They are
 * disposed of with it.
 */
export interface EdgeRouterPeers extends Partial<AsyncDisposable> {
  readonly identity: Client<typeof IdentityService>;
  readonly signIn: Client<typeof SignInService>;
  readonly limiter: CreateLimiter;
  readonly broker: Client<typeof PoolBrokerService>;
  readonly adapters: ReadonlyMap<ProviderFormat, Client<typeof AdapterService>>;
  readonly usageQuery: Client<typeof UsageQueryService>;
  readonly usageSink: UsageSink;
  /**
   * All peers run on this machine and end with this process: while it runs they answer, at the
   * latest when they get time, so that requests wait for them without a deadline.
   */
  readonly areOnThisMachine?: boolean;
}
