import { runWorker } from '@gateway/lifecycle/workers';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageIngestService, UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { openChannel } from '@gateway/rpc/grpc';
import { readAllInOneConfig } from '../config.ts';
import { createFront, ledgerSink } from '../front.ts';

const { logLevel, drainTimeoutMs } = readAllInOneConfig(process.env);
const [, , address = ''] = process.argv;
using primary = openChannel(address);
/** The services of the primary process. */
const peers = {
  identity: primary.client(IdentityService),
  limiter: primary.client(LimiterService),
  broker: primary.client(PoolBrokerService),
  credentials: primary.client(CredentialService),
  usageQuery: primary.client(UsageQueryService),
  usageSink: ledgerSink(primary.client(UsageIngestService)),
};

await runWorker({ name: 'The gateway', logLevel, drainTimeoutMs }, (runtime) =>
  createFront(process.env, peers, runtime),
);
