import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageIngestService, UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { openChannel } from '@gateway/rpc/grpc';
import type { FrontPeers } from '../front.ts';

/** The services of the primary process, as its workers reach them. */
export interface Primary extends Disposable {
  readonly peers: FrontPeers;
}

export function openPrimary(address: string): Primary {
  const channel = openChannel(address);
  const ingest = channel.client(UsageIngestService);
  return {
    peers: {
      identity: channel.client(IdentityService),
      limiter: channel.client(LimiterService),
      broker: channel.client(PoolBrokerService),
      credentials: channel.client(CredentialService),
      usageQuery: channel.client(UsageQueryService),
      usageSink: {
        record: async ({ events, logs }, signal) => {
          await ingest.record({ events: [...events], logs: [...logs] }, { signal });
        },
      },
    },
    [Symbol.dispose]: () => channel[Symbol.dispose](),
  };
}
