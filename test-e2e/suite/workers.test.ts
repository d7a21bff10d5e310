import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs, slowness } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { describeSmoke } from '../behaviours/gateway.ts';
import { probedAccountsBehaviour } from '../behaviours/probed-accounts.ts';
import { describeWorkers } from '../behaviours/workers.ts';
import { chatAfresh } from '../client/fresh-connection.ts';
import { issueToken } from '../client/tokens.ts';
import { ask } from '../faults/limit-window-load.ts';
import { withinAMinute } from '../faults/within-a-minute.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';
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

describe('two workers that the limiter in their primary does not answer', () => {
  it('admit the limit together, and no more when it answers again', async () => {
    await using gateway = await startAllInOne('stopped-primary', {
      GATEWAY_WORKERS: '2',
      RPC_TIMEOUT_MS: String(roomMs(1_000)),
    });
    await withinAMinute(async () => {
      const token = await issueToken(gateway, { requestsPerMinute: 10 });
      const agents = await agentOfEachWorker(gateway);
      const statuses: number[] = [];
      /**
       * Sends requests on each connection until one is refused: a refusal may close the connection,
       * and the next connection may lead to the other worker.
       */
      const askEach = async (atMost: number) => {
        for (const agent of agents) {
          for (let n = 0, status = 0; n < atMost && status !== 429; n++) {
            ({ status } = await ask(gateway.baseUrl, token.text, agent));
            statuses.push(status);
          }
        }
      };
      await askEach(1);
      // Longer than a heartbeat: now each of them knows of the other. Idle connections are closed
      // after a few seconds.
      for (let n = 0; n < 6 * slowness; n++) {
        await sleep(500);
        for (const agent of agents) await touch(gateway.baseUrl, agent);
      }
      gateway.command.kill('SIGSTOP');
      try {
        await askEach(15);
      } finally {
        gateway.command.kill('SIGCONT');
      }
      await sleep(roomMs(3_000));
      await askEach(5);
      for (const agent of agents) agent.destroy();
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

/** One connection to each of two workers. Each stays with its worker. */
async function agentOfEachWorker({ baseUrl, adminUrl }: AllInOneTopology): Promise<readonly Agent[]> {
  const counts = async () => {
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
    return [1, 2].map((worker) => {
      const count = `^http_server_request_duration_seconds_count\\{worker="${worker}".*? (\\d+)$`;
      const samples = metrics.matchAll(new RegExp(count, 'gm'));
      return [...samples].reduce((sum, [, count]) => sum + Number(count), 0);
    });
  };
  const agents = new Map<number, Agent>();
  while (agents.size < 2) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const before = await counts();
    await touch(baseUrl, agent);
    const worker = (await counts()).findIndex((count, index) => count > (before[index] ?? 0));
    if (agents.has(worker)) agent.destroy();
    else agents.set(worker, agent);
  }
  return [...agents.values()];
}

/** Uses a connection without taking a slot. */
async function touch(baseUrl: string, agent: Agent): Promise<void> {
  const asking = get(`${baseUrl}/v1/models`, { agent });
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  await once(response.resume(), 'end');
}
