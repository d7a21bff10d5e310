import { readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { describeSmoke } from '../behaviours/gateway.ts';
import { probedAccountsBehaviour } from '../behaviours/probed-accounts.ts';
import { describeWorkers } from '../behaviours/workers.ts';
import { chatAfresh } from '../client/fresh-connection.ts';
import { issueToken } from '../client/tokens.ts';
import { ask } from '../faults/limit-window-load.ts';
import { withinAMinute } from '../faults/within-a-minute.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { startServicesTopology } from '../topologies/services.ts';

describeSmoke(
  'the all-in-one gateway with two workers',
  () => startAllInOne('workers', { GATEWAY_WORKERS: '2' }),
  probedAccountsBehaviour,
);

describe('two workers whose gateway.yaml changes', () => {
  it('all take it', async () => {
    await using gateway = await startAllInOne('reloading-workers', { GATEWAY_WORKERS: '2' });
    const token = await issueToken(gateway, { kind: 'personal' });
    const ask = () => chatAfresh(gateway, token.text, { model: 'gateway/fresh' }).answer;
    expect((await ask()).status).toBe(404);
    const classes = 'classes:\n';
    const fresh = '  fresh: { name: Fresh, effort: low, candidates: [messages/claude-sonnet-5] }\n';
    const text = await readFile(gateway.gatewayFile, 'utf8');
    expect(text).toContain(classes);
    await writeFile(gateway.gatewayFile, text.replace(classes, classes + fresh));
    const metrics = async () => (await fetch(`${gateway.adminUrl}/metrics`)).text();
    const reloaded = 'gateway_configuration_reloads_total{result="applied"} 1\n';
    await expect.poll(metrics).toContain(reloaded);
    for (let n = 0; n < 6; n++) expect((await ask()).status).toBe(200);
  });
});

describe('two workers whose primary stands still', () => {
  it('wait for it, however long, and admit no more than the limit together', async () => {
    await using gateway = await startAllInOne('stopped-primary', {
      GATEWAY_WORKERS: '2',
      ADMISSION_PATIENCE_SECONDS: '1',
    });
    await withinAMinute(async () => {
      const token = await issueToken(gateway, { requestsPerMinute: 10 });
      const agent = new Agent({ keepAlive: true });
      const first = await ask(gateway.baseUrl, token.text, agent);
      gateway.command.kill('SIGSTOP');
      const waiting = Array.from({ length: 15 }, () => ask(gateway.baseUrl, token.text, agent));
      try {
        // Longer than a request waits for other machines.
        await sleep(5_000);
      } finally {
        gateway.command.kill('SIGCONT');
      }
      const statuses = [first, ...(await Promise.all(waiting))].map(({ status }) => status);
      agent.destroy();
      expect(statuses.filter((status) => status !== 400 && status !== 429)).toEqual([]);
      expect(statuses.filter((status) => status === 400)).toHaveLength(10);
    });
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
  const gateway = await startServicesTopology('edge-workers', {
    tls: true,
    env: { EDGE_WORKERS: '2' },
    replicas: { admin: 0 },
  });
  const edge = gateway.services['edge-router'];
  return Object.assign(gateway, { primaryPid: () => edge.pid ?? 0, terminate: () => edge.stop() });
});
