import { freePort } from '@gateway/testkit';
import { conformanceBehaviour } from '../behaviours/conformance.ts';
import { conformanceFile } from '../topologies/conformance-file.ts';
import { describeTopology } from '../topologies/describe-topology.ts';
import { startServicesTopology } from '../topologies/services.ts';

const providerPort = await freePort();

describeTopology(
  'the gateway as many processes',
  () => startServicesTopology('conformance', { writeFile: conformanceFile(providerPort) }),
  conformanceBehaviour(providerPort),
);
