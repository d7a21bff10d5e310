import { describeGateway } from '../behaviours/gateway.ts';
import { describeWorkers } from '../behaviours/workers.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { startServicesTopology } from '../topologies/services.ts';

describeGateway('the all-in-one gateway with two workers', () => startAllInOne('workers', { GATEWAY_WORKERS: '2' }));

describeWorkers('two workers of the all-in-one gateway', async () => {
  const gateway = await startAllInOne('two-workers', { GATEWAY_WORKERS: '2' });
  return {
    ...gateway,
    primaryPid: () => gateway.command.pid,
    async terminate() {
      gateway.command.kill('SIGTERM');
      await gateway.command.ended;
    },
  };
});

describeWorkers('two workers of the edge as a process of its own', async () => {
  const gateway = await startServicesTopology('edge-workers', { 'edge-router': { EDGE_WORKERS: '2' } });
  const edge = gateway.services['edge-router'];
  return { ...gateway, primaryPid: () => edge.pid ?? 0, terminate: () => edge.stop() };
});
