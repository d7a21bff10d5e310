import { freePort } from '@gateway/testkit';
import { conformanceBehaviour } from '../behaviours/conformance.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { conformanceFile } from '../topologies/conformance-file.ts';
import { describeTopology } from '../topologies/describe-topology.ts';

const providerPort = await freePort();

describeTopology(
  'the all-in-one gateway',
  () => startAllInOne('conformance', {}, conformanceFile(providerPort)),
  conformanceBehaviour(providerPort),
);
