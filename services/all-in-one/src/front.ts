import type { Environment } from '@gateway/config';
import { readEdgeRouterConfig } from '@gateway/edge-router/config';
import { createEdgeRouterService, type EdgeRouterPeers, type EdgeRouterService } from '@gateway/edge-router/service';
import type { UsageSink } from '@gateway/edge-router/usage/outbox';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { readMessagesAdapterConfig } from '@gateway/messages-adapter/config';
import { createMessagesAdapterService } from '@gateway/messages-adapter/service';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { CredentialService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { readResponsesAdapterConfig } from '@gateway/responses-adapter/config';
import { createResponsesAdapterService } from '@gateway/responses-adapter/service';
import { type Client, directClientOf } from '@gateway/rpc';

/** The services that there is one of in the whole gateway, as the front reaches them. */
export interface FrontPeers extends Omit<EdgeRouterPeers, 'adapters'> {
  readonly credentials: Client<typeof CredentialService>;
}

/** What there may be many of: the edge and its adapters, in one process. Starting it starts all of them. */
export async function createFront(
  env: Environment,
  { credentials, ...peers }: FrontPeers,
  runtime: ServiceRuntime,
): Promise<EdgeRouterService> {
  await using stack = new AsyncDisposableStack();
  const brokerPeers = { broker: peers.broker, credentials };
  const responses = stack.use(createResponsesAdapterService(readResponsesAdapterConfig(env), brokerPeers, runtime));
  const messages = stack.use(createMessagesAdapterService(readMessagesAdapterConfig(env), brokerPeers, runtime));
  const adapters = new Map([
    [ProviderFormat.RESPONSES, directClientOf(responses.routes, AdapterService)],
    [ProviderFormat.MESSAGES, directClientOf(messages.routes, AdapterService)],
  ]);
  const edge = stack.use(await createEdgeRouterService(readEdgeRouterConfig(env), { ...peers, adapters }, runtime));
  const services: readonly Service[] = [responses, messages, edge];
  const open = stack.move();
  return {
    ...edge,
    get port() {
      return edge.port;
    },
    async start() {
      for (const service of services) await service.start();
    },
    notReady: () => firstReason(services),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Hands usage to a ledger by calls. */
export function ledgerSink(ingest: Client<typeof UsageIngestService>): UsageSink {
  return {
    record: async ({ events, logs }, signal) => {
      await ingest.record({ events: [...events], logs: [...logs] }, { signal });
    },
  };
}

/** Why one of these services can't take requests now; undefined when all can. */
export async function firstReason(services: readonly Pick<Service, 'notReady'>[]): Promise<string | undefined> {
  const reasons = await Promise.all(services.map((service) => service.notReady()));
  return reasons.find((reason) => reason !== undefined);
}
