import type { AdminPeers } from '@gateway/admin/parts';
import type { Environment } from '@gateway/config';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { readMessagesAdapterConfig } from '@gateway/messages-adapter/config';
import { createMessagesAdapterService } from '@gateway/messages-adapter/service';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { readResponsesAdapterConfig } from '@gateway/responses-adapter/config';
import { createResponsesAdapterService } from '@gateway/responses-adapter/service';
import { directClientOf, type ServiceRoute } from '@gateway/rpc';
import { Metrics } from '@gateway/telemetry';

/**
 * Adapters with which the admin service probes accounts. They have the settings of those that carry
 * requests, which run in other processes if the gateway has workers. They are not started, so they
 * report no model lists, and they translate nothing.
 */
export function openProbingAdapters(
  env: Environment,
  routes: readonly ServiceRoute[],
  { logger }: ServiceRuntime,
  stack: AsyncDisposableStack,
): AdminPeers['adapters'] {
  const peers = {
    broker: directClientOf(routes, PoolBrokerService),
    credentials: directClientOf(routes, CredentialService),
  };
  const runtime = { logger, metrics: new Metrics() };
  const noThreads = { translationWorkers: 0 };
  const responses = { ...readResponsesAdapterConfig(env), ...noThreads };
  const messages = { ...readMessagesAdapterConfig(env), ...noThreads };
  return new Map(
    [
      [ProviderFormat.RESPONSES, createResponsesAdapterService(responses, peers, runtime)] as const,
      [ProviderFormat.MESSAGES, createMessagesAdapterService(messages, peers, runtime)] as const,
    ].map(([format, adapter]) => [format, directClientOf(stack.use(adapter).routes, AdapterService)]),
  );
}
