import type { DescService } from '@bufbuild/protobuf';
import type { Environment } from '@gateway/config';
import { plainLimiter } from '@gateway/edge-router/admission/admit';
import { remoteLimits } from '@gateway/edge-router/admission/limiter-messages';
import { outageTolerant } from '@gateway/edge-router/admission/outage-tolerant-limiter';
import { readEdgeRouterConfig } from '@gateway/edge-router/config';
import type { EdgeRouterPeers } from '@gateway/edge-router/peers';
import { createEdgeRouterService, type EdgeRouterService } from '@gateway/edge-router/service';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import type { RemoteLimits } from '@gateway/limits';
import { readMessagesAdapterConfig } from '@gateway/messages-adapter/config';
import { createMessagesAdapterService } from '@gateway/messages-adapter/service';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageIngestService, UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { readResponsesAdapterConfig } from '@gateway/responses-adapter/config';
import { createResponsesAdapterService } from '@gateway/responses-adapter/service';
import { type Client, directClientOf } from '@gateway/rpc';
import type { AllInOneConfig } from './config.ts';

/** Gives the front clients of the services that exist once in the whole gateway. */
type ClientOf = <S extends DescService>(service: S) => Client<S>;

/**
 * The services that may run several times: the edge and its adapters, in one process. Starting the
 * front starts all of them.
 * @param limits the limiter, if it is in this process.
 */
export async function createFront(
  env: Environment,
  clientOf: ClientOf,
  { redis }: Pick<AllInOneConfig, 'redis'>,
  runtime: ServiceRuntime,
  limits?: RemoteLimits,
): Promise<EdgeRouterService> {
  await using stack = new AsyncDisposableStack();
  const broker = clientOf(PoolBrokerService);
  const adapterPeers = { broker, credentials: clientOf(CredentialService) };
  const responses = stack.use(createResponsesAdapterService(readResponsesAdapterConfig(env), adapterPeers, runtime));
  const messages = stack.use(createMessagesAdapterService(readMessagesAdapterConfig(env), adapterPeers, runtime));
  const ingest = clientOf(UsageIngestService);
  const limiterClient = clientOf(LimiterService);
  // A limiter in memory is away only when the gateway is.
  const plain = redis === undefined && plainLimiter(limits ?? remoteLimits(limiterClient));
  const peers: EdgeRouterPeers = {
    ...{ broker, limiter: plain || outageTolerant(limiterClient), areOnThisMachine: true },
    identity: clientOf(IdentityService),
    signIn: clientOf(SignInService),
    usageQuery: clientOf(UsageQueryService),
    usageSink: {
      async record(requests, signal) {
        await ingest.record({ requests: [...requests] }, { signal });
      },
    },
    adapters: new Map([
      [ProviderFormat.RESPONSES, directClientOf(responses.routes, AdapterService)],
      [ProviderFormat.MESSAGES, directClientOf(messages.routes, AdapterService)],
    ]),
  };
  const edge = stack.use(await createEdgeRouterService(readEdgeRouterConfig(withSignInPage(env)), peers, runtime));
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

/** The console of this process has the page where people confirm a sign-in. */
function withSignInPage(env: Environment): Environment {
  const { ADMIN_PUBLIC_URL: consoleUrl, OIDC_ISSUER: issuer } = env;
  if (!consoleUrl || !issuer) return env;
  return { SIGN_IN_PAGE_URL: `${consoleUrl.replace(/\/$/, '')}/device`, ...env };
}

/** Why one of these services can't take requests now; undefined when all can. */
export async function firstReason(services: readonly Service[]): Promise<string | undefined> {
  const reasons = await Promise.all(services.map((service) => service.notReady()));
  return reasons.find((reason) => reason !== undefined);
}
