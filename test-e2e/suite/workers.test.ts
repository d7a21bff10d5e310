import { appendFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { describeGateway } from '../behaviours/gateway.ts';
import { describeWorkers } from '../behaviours/workers.ts';
import { chatAfresh } from '../client/fresh-connection.ts';
import { issueToken } from '../client/tokens.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { startServicesTopology } from '../topologies/services.ts';

describeGateway('the all-in-one gateway with two workers', () => startAllInOne('workers', { GATEWAY_WORKERS: '2' }));

describe('two workers whose gateway.yaml changes', () => {
  it('all take it', async () => {
    await using gateway = await startAllInOne('reloading-workers', { GATEWAY_WORKERS: '2' });
    const token = await issueToken(gateway, { kind: 'personal' });
    const ask = () => chatAfresh(gateway, token.text, { model: 'gateway/fresh' }).answer;
    expect((await ask()).status).toBe(404);
    // Its last part is the classes.
    await appendFile(
      gateway.gatewayFile,
      '  fresh: { name: Fresh, effort: low, candidates: [messages/claude-sonnet-5] }\n',
    );
    const metrics = async () => (await fetch(`${gateway.adminUrl}/metrics`)).text();
    const reloaded = 'gateway_configuration_reloads_total{result="applied"} 1\n';
    await expect.poll(metrics, { timeout: 20_000 }).toContain(reloaded);
    for (let n = 0; n < 6; n++) expect((await ask()).status).toBe(200);
  });
});

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
