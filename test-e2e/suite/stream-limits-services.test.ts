import { streamLimitsBehaviour } from '../behaviours/stream-limits.ts';
import { describeTopology } from '../topologies/describe-topology.ts';
import { startServicesTopology } from '../topologies/services.ts';
import { streamLimitSettings, writeStreamLimitsFile } from '../topologies/stream-limits-file.ts';

describeTopology(
  'streams of a gateway with short limits: services',
  () =>
    startServicesTopology('stream-limits-services', {
      env: streamLimitSettings,
      writeFile: writeStreamLimitsFile,
      replicas: { admin: 0 },
    }),
  streamLimitsBehaviour,
);
