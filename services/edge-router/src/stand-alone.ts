import type { Environment } from '@gateway/config';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { peerChannels } from '@gateway/lifecycle/transport';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { UsagePublisher } from '@gateway/usage-stream';
import { readEdgeRouterConfig, readEdgeRouterPeerUrls } from './config.ts';
import { createEdgeRouterService, type EdgeRouterPeers, type EdgeRouterService } from './service.ts';

/**
 * The edge as a process of its own, or as one of several: its peers are reached over gRPC and NATS. Connections are made in the
 * background and remade for as long as it is open.
 */
export async function createEdgeRouterFromEnvironment(
  env: Environment,
  runtime: ServiceRuntime,
): Promise<EdgeRouterService> {
  const urls = readEdgeRouterPeerUrls(env);
  const stack = new AsyncDisposableStack();
  const channel = await peerChannels(runtime, stack);
  const publisher = stack.use(new UsagePublisher(urls.nats, runtime));
  const peers: EdgeRouterPeers = {
    identity: channel('identity', urls.identity).client(IdentityService),
    limiter: channel('limiter', urls.limiter).client(LimiterService),
    broker: channel('pool-broker', urls.broker).client(PoolBrokerService),
    adapters: new Map([
      [ProviderFormat.RESPONSES, channel('responses-adapter', urls.responsesAdapter).client(AdapterService)],
      [ProviderFormat.MESSAGES, channel('messages-adapter', urls.messagesAdapter).client(AdapterService)],
    ]),
    usageQuery: channel('usage-query', urls.usageQuery).client(UsageQueryService),
    usageSink: { record: (batch, signal) => publisher.publish(batch, signal) },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
  return createEdgeRouterService(readEdgeRouterConfig(env), peers, runtime);
}
