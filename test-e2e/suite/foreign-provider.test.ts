import { afterAll } from 'vitest';
import { foreignProvidersBehaviour } from '../behaviours/foreign-providers.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { describeTopology } from '../topologies/describe-topology.ts';
import { startForeignProviders } from '../topologies/foreign-providers.ts';
import { startServicesTopology } from '../topologies/services.ts';

const providers = await startForeignProviders();
afterAll(() => providers[Symbol.asyncDispose]());

describeTopology(
  'the all-in-one gateway in front of providers by others',
  () => startAllInOne('foreign-provider', {}, providers.writeFile),
  foreignProvidersBehaviour(providers),
);

describeTopology(
  'services in front of providers by others',
  () => startServicesTopology('foreign-provider-services', { writeFile: providers.writeFile, replicas: { admin: 0 } }),
  foreignProvidersBehaviour(providers),
);
