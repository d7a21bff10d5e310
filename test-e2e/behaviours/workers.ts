import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatAfresh, requestsTodayAfresh } from '../client/fresh-connection.ts';
import { loggedRequestsOf } from '../client/request-log.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

/** A gateway whose edge is several processes. */
export interface WorkersTopology extends Topology {
  /** The process id of the process that started the workers. */
  readonly primaryPid: () => number;
  /** Sends SIGTERM to that process; resolves when it and its workers have ended. */
  readonly terminate: () => Promise<void>;
}

/** Two workers on one port, which look like one from outside. */
export function describeWorkers(name: string, start: () => Promise<WorkersTopology>): void {
  describe(name, () => {
    let topology: WorkersTopology | undefined;
    const gateway = () => {
      if (topology === undefined) throw new Error('the gateway has not started');
      return topology;
    };
    beforeAll(async () => {
      topology = await start();
    });
    afterAll(async () => {
      await topology?.[Symbol.asyncDispose]();
    });

    const model = 'gateway/claude';
    const metrics = async () => (await fetch(`${gateway().edgeAdminUrl}/metrics`)).text();
    const sampleOf = async (sample: string) => {
      const found = (await metrics()).split('\n').find((line) => line.startsWith(`${sample} `));
      return Number(found?.slice(sample.length + 1) ?? 0);
    };
    const servedBy = (worker: number) =>
      sampleOf(
        `http_server_request_duration_seconds_count{worker="${worker}",http_request_method="POST",http_route="/v1/chat/completions",http_response_status_code="200",error_type=""}`,
      );
    /** In the order of the workers' numbers. */
    const workerPids = () => {
      const pid = gateway().primaryPid();
      return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    };
    const slowDown = () => {
      const fault = { kind: 'delay', betweenEventsMs: 20 } as const;
      for (const letter of ['a', 'b']) {
        gateway().simulator.faults.add({ account: `messages-${letter}`, forSeconds: 60, fault });
      }
    };
    const longStream = (token: string) =>
      chatAfresh(gateway(), token, { model, stream: true, messages: [{ role: 'user', content: '#long 300' }] });

    it('all serve, and operators see the requests of each one in one place', async () => {
      const token = await issueToken(gateway(), { kind: 'personal' });
      const before = [await servedBy(1), await servedBy(2)];
      for (let n = 0; n < 20; n++) {
        expect((await chatAfresh(gateway(), token.text, { model }).answer).status).toBe(200);
      }
      const served = [(await servedBy(1)) - (before[0] ?? 0), (await servedBy(2)) - (before[1] ?? 0)];
      expect(served.reduce((sum, each) => sum + each, 0)).toBe(20);
      for (const each of served) expect(each).toBeGreaterThan(0);
      const logged = await loggedRequestsOf(gateway(), token.tokenId, 20);
      expect(new Set(logged.map(({ requestId }) => requestId)).size).toBe(20);
    });

    it('share the limits of a token exactly', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 20 });
      const answers = await Promise.all(
        Array.from({ length: 60 }, () => chatAfresh(gateway(), token.text, { model }).answer),
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(20);
      expect(statuses.filter((status) => status === 429)).toHaveLength(40);
    });

    it('show a caller at once the usage that another one has just served', async () => {
      const token = await issueToken(gateway(), { kind: 'personal' });
      for (let n = 1; n <= 20; n++) {
        expect((await chatAfresh(gateway(), token.text, { model }).answer).status).toBe(200);
        // Half of the time, another worker answers.
        if (n % 2 === 0) expect(await requestsTodayAfresh(gateway(), token.text)).toBe(n);
        expect(await requestsTodayAfresh(gateway(), token.text)).toBe(n);
      }
    });

    it('outlive one that is killed: others keep serving, a new one replaces it, and nothing is lost', async () => {
      const token = await issueToken(gateway(), { kind: 'personal' });
      slowDown();
      const streams = Array.from({ length: 16 }, () => longStream(token.text));
      await Promise.all(streams.map(({ began }) => began));
      const runningThere = await sampleOf('gateway_open_streams{worker="1"}');
      expect(runningThere).toBeGreaterThan(0);
      const [victim = 0] = workerPids();
      process.kill(victim, 'SIGKILL');
      // Connections that the kernel gave to a process in its last moment are reset, as with any
      // server that dies.
      await expect.poll(() => isAlive(victim)).toBe(false);
      const meanwhile = await Promise.all(
        Array.from({ length: 10 }, () => chatAfresh(gateway(), token.text, { model }).answer),
      );
      gateway().simulator.faults.clear();
      expect(meanwhile.map(({ status }) => status)).toEqual(meanwhile.map(() => 200));
      const answers = await Promise.all(streams.map(({ answer }) => answer));
      const whole = answers.filter(({ text }) => text.endsWith('data: [DONE]\n\n'));
      expect(whole.map(({ brokeOff }) => brokeOff)).toEqual(whole.map(() => false));
      expect(whole).toHaveLength(streams.length - runningThere);
      await expect.poll(metrics).toContain('gateway_workers_serving 2\n');
      expect(workerPids()).not.toContain(victim);
      expect(await metrics()).toContain('gateway_worker_losses_total 1\n');
      await expect.poll(() => requestsTodayAfresh(gateway(), token.text)).toBe(streams.length + meanwhile.length);
    });

    it('let every stream end when the gateway is stopped', async () => {
      const token = await issueToken(gateway(), { kind: 'personal' });
      slowDown();
      const streams = Array.from({ length: 6 }, () => longStream(token.text));
      await Promise.all(streams.map(({ began }) => began));
      const pids = workerPids();
      const ended = gateway().terminate();
      const answers = await Promise.all(streams.map(({ answer }) => answer));
      for (const { text, brokeOff } of answers) {
        expect(brokeOff).toBe(false);
        expect(text).toMatch(/data: \[DONE\]\n\n$/);
      }
      await ended;
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
      expect((await chatAfresh(gateway(), token.text, { model }).answer).status).toBe(0);
    });
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
