import { type Endpoint, levels, paths, withModelsFound } from '@gateway/conformance';
import { issueToken } from '../client/tokens.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { conformanceFile } from '../topologies/conformance-file.ts';
import { startServicesTopology } from '../topologies/services.ts';
import type { Topology } from '../topologies/topology.ts';
import type { Peer, StartedPeer } from './peer.ts';

const endpoints = Object.keys(paths) as readonly Endpoint[];
const claims = Object.fromEntries(endpoints.map((endpoint) => [endpoint, 'docs/openapi.yaml']));

/** A low limit, but enough for every check that reads the limit's headers. */
const limitedRequestsPerMinute = 20;

const common = {
  claims,
  levels,
  usualUrl: 'http://127.0.0.1:8080',
};

const accounts =
  '`gateway.yaml` has two accounts for each of two pools, Responses and Messages, all with the base URL of the double.';

/** Everything in one process, on its embedded storage. */
export const allInOne: Peer = {
  ...common,
  name: 'all-in-one',
  setUp: [accounts],
  startCommand: 'npm start &',
  start: async ({ providerPort }) => held(await startAllInOne('peers', {}, conformanceFile(providerPort))),
};

/** A process for each service. */
export const services: Peer = {
  ...common,
  name: 'services',
  setUp: [accounts, 'Every service is a process, on Redis, NATS and Postgres.'],
  startCommand: 'npm run start:services &',
  start: async ({ providerPort }) =>
    held(await startServicesTopology('peers', { writeFile: conformanceFile(providerPort) })),
};

async function held(gateway: Topology): Promise<StartedPeer> {
  try {
    const token = await issueToken(gateway, { kind: 'personal' });
    const limited = await issueToken(gateway, { requestsPerMinute: limitedRequestsPerMinute });
    const target = {
      url: gateway.baseUrl,
      token: token.text,
      limitedToken: limited.text,
      limitedRequestsPerMinute,
      models: {},
      hasSecondAccount: true,
    };
    return {
      targets: [await withModelsFound(target, endpoints, AbortSignal.timeout(60_000))],
      [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
    };
  } catch (thrown) {
    await gateway[Symbol.asyncDispose]();
    throw thrown;
  }
}
