import { missingPartContract } from '../behaviours/contract.ts';
import { describeContract } from '../behaviours/gateway.ts';
import { startServicesTopology } from '../topologies/services.ts';

describeContract(
  'the contract of the gateway as many processes',
  () => startServicesTopology('services-contract', { replicas: { admin: 0 } }),
  {
    compressed: false,
    more: (gateway) => missingPartContract(gateway, ({ services }) => services.identity),
  },
);
