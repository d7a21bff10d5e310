import { create } from '@bufbuild/protobuf';
import type { AdapterPeers } from '@gateway/adapter-kit';
import { GatewayError } from '@gateway/errors';
import type { Service } from '@gateway/lifecycle';
import { AdapterService, type Dialect, type ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LeaseSchema, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Client, directClient, type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { readResponsesAdapterConfig } from '../config.ts';
import { createResponsesAdapterService } from '../service.ts';

/** The adapter, with one pool of one account at the given provider. */
export interface AdapterUnderTest extends AsyncDisposable {
  readonly service: Service;
  readonly client: Client<typeof AdapterService>;
  /** The models that were reported to the broker. */
  readonly reports: readonly object[];
}

export function startAdapter(providerUrl: string): AdapterUnderTest {
  const reports: object[] = [];
  const runtime = { logger: createLogger('responses-adapter', 'silent'), metrics: new Metrics() };
  const peers = peersOf(providerUrl, reports);
  const service = createResponsesAdapterService(readResponsesAdapterConfig({}), peers, runtime);
  return {
    service,
    client: clientOf(service),
    reports,
    [Symbol.asyncDispose]: async () => service[Symbol.asyncDispose](),
  };
}

export interface ExecuteRequestOptions {
  readonly dialect: Dialect;
  readonly body: string;
  readonly forwardHeaders?: Record<string, string>;
}

/** A request to the adapter, as its caller sends it. */
export async function* requestFrames({ dialect, body, forwardHeaders = {} }: ExecuteRequestOptions) {
  const lease = create(LeaseSchema, { accountId: 'responses/a', pool: 'responses', model: 'gpt-5.5' });
  yield { head: { requestId: 'r1', lease, dialect, affinityKey: 'session', forwardHeaders } };
  yield { body: Buffer.from(body) };
}

/** Everything that the adapter reported for one request. */
export interface Answer {
  readonly head: ExecuteResponse['head'];
  readonly outcome: ExecuteResponse['result'];
  readonly usage: ExecuteResponse['usage'];
  readonly body: string;
}

export async function gather(responses: AsyncIterable<ExecuteResponse>): Promise<Answer> {
  const frames = await Array.fromAsync(responses);
  return {
    head: frames.find((frame) => frame.head !== undefined)?.head,
    outcome: frames.at(-1)?.result,
    usage: frames.findLast((frame) => frame.usage !== undefined)?.usage,
    body: Buffer.concat(frames.map((frame) => frame.body)).toString(),
  };
}

/** The service has one route. */
function clientOf({ routes: [route] }: Service): Client<typeof AdapterService> {
  if (route?.service !== AdapterService) throw new Error('The service does not serve AdapterService.');
  return directClient(route as ServiceRoute<typeof AdapterService>);
}

function peersOf(providerUrl: string, reports: object[]): AdapterPeers {
  const broker = serviceRoute(PoolBrokerService, {
    listPools: () => ({ pools: [{ name: 'responses', format: ProviderFormat.RESPONSES, ownedBy: 'provider_a' }] }),
    reportModels: ({ pool, reachable, models }) => {
      reports.push({ pool, reachable, models: models.map((model) => model.id) });
      return {};
    },
    acquire: notAsked,
    report: notAsked,
    listModels: notAsked,
    watchCatalog: notAsked,
    listAccounts: notAsked,
    explain: notAsked,
    renewLeases: notAsked,
  });
  const credentials = serviceRoute(CredentialService, {
    getCredential: () => ({
      accountId: 'responses/a',
      baseUrl: `${providerUrl}/v1`,
      secret: { case: 'bearer', value: 'secret' },
      cacheableForMs: 60_000,
    }),
  });
  return { broker: directClient(broker), credentials: directClient(credentials) };
}

function notAsked(): never {
  throw new GatewayError('internal_error', 'Adapters do not ask this.');
}
