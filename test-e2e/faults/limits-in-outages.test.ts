import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMetric } from '../client/metrics.ts';
import { issueToken, type TestToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { type ReplicatedServices, startReplicatedServices } from '../topologies/replicated-services.ts';
import { type Balancer, openBalancer } from './limit-window-balancer.ts';
import { ask } from './limit-window-load.ts';
import { withinAMinute } from './within-a-minute.ts';

const limit = 60;
const isLong = process.env.FAULTS === 'long';

interface Stoppable {
  kill(): Promise<void>;
  restart(): Promise<void>;
}

function killable(process: Stoppable | undefined): Stoppable {
  return process ?? expect.fail('there is one');
}

function pausable(process: { pause(): Promise<void>; resume(): Promise<void> } | undefined): Stoppable {
  const paused = process ?? expect.fail('there is one');
  return { kill: () => paused.pause(), restart: () => paused.resume() };
}

/** Two edges, and two limiters behind one address, as in a cluster. */
describe('limits while the limiters, or their Redis, are away', () => {
  let gateway: ReplicatedServices;
  let balancer: Balancer;
  const linesOfEdges: string[] = [];
  beforeAll(async () => {
    balancer = await openBalancer();
    gateway = await startReplicatedServices({
      replicas: { 'edge-router': 2, limiter: 2 },
      envOf: { 'edge-router': { LIMITER_URL: balancer.url } },
      eventDelayMs: 1,
      env: { LOG_LEVEL: 'warn' },
      onLine: (service, line) => {
        if (service === 'edge-router') linesOfEdges.push(line);
      },
    });
    balancer.leadTo(gateway.replicas.limiter.map(({ grpcUrl }) => grpcUrl));
    // Longer than a heartbeat: from now on each of them knows of the other.
    await sleep(roomMs(5_000));
  });
  afterAll(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await balancer?.[Symbol.asyncDispose]();
  });

  const issue = (limits: { readonly requestsPerMinute?: number; readonly tokensPerDay?: number }) =>
    issueToken(gateway, limits);

  /**
   * Sends this many requests to an edge, one after the other, and counts the admitted ones. Fails
   * if a request was neither admitted nor refused.
   */
  async function admittedBy(edge: number, token: TestToken, count: number): Promise<number> {
    const { publicUrl = '' } = gateway.replicas['edge-router'][edge] ?? {};
    let admitted = 0;
    for (let n = 0; n < count; n++) {
      const { status } = await ask(publicUrl, token.text);
      expect([400, 429]).toContain(status);
      if (status === 400) admitted += 1;
    }
    return admitted;
  }

  async function admittedByBoth(token: TestToken, count: number): Promise<number> {
    const [one, other] = await Promise.all([admittedBy(0, token, count), admittedBy(1, token, count)]);
    return one + other;
  }

  /** Each edge reads the limits, and so learns what the other one has admitted. */
  async function readAtBoth({ text }: TestToken): Promise<void> {
    await Promise.all(gateway.replicas['edge-router'].map(({ publicUrl: baseUrl = '' }) => usageOf({ baseUrl }, text)));
  }

  /** Runs something while processes are away, and ends when Redis decides every token again. */
  async function without(processes: readonly Stoppable[], meanwhile: () => Promise<void>): Promise<void> {
    await Promise.all(processes.map((each) => each.kill()));
    try {
      await meanwhile();
    } finally {
      await Promise.all(processes.map((each) => each.restart()));
      // Admissions of the outage are handed over within two seconds.
      await sleep(roomMs(3_000));
    }
  }

  /**
   * How many requests are admitted that come while processes are away, and until Redis decides
   * every token again.
   */
  async function admittedThroughOutageOf(processes: readonly Stoppable[], token: TestToken): Promise<number> {
    let admitted = 0;
    let isOver = false;
    let asked = Promise.resolve();
    const goOnAsking = async () => {
      while (!isOver) admitted += await admittedByBoth(token, 5);
    };
    await without(processes, async () => {
      admitted += await admittedByBoth(token, 40);
      asked = goOnAsking();
    });
    isOver = true;
    await asked;
    return admitted;
  }

  describe('Redis', () => {
    it('is away: two edges together admit the limit, and no more when it is back', async () => {
      await withinAMinute(async () => {
        const token = await issue({ requestsPerMinute: limit });
        let admitted = 0;
        await without([gateway.redis], async () => {
          admitted += await admittedByBoth(token, 70);
        });
        expect(admitted).toBe(limit);
        admitted += await admittedByBoth(token, 10);
        expect(admitted).toBe(limit);
      });
    });

    it('is away and comes back while callers send requests: two edges together admit the limit', async () => {
      await withinAMinute(async () => {
        const token = await issue({ requestsPerMinute: limit });
        expect(await admittedThroughOutageOf([gateway.redis], token)).toBe(limit);
      });
    });

    it.each([
      ['admitted equally much', [20, 20]],
      ['admitted unequally much', [34, 16]],
    ] as const)('is away: two edges that have %s together admit the limit', async (_how, [one, other]) => {
      await withinAMinute(async () => {
        const token = await issue({ requestsPerMinute: limit });
        let admitted = (await admittedBy(0, token, one)) + (await admittedBy(1, token, other));
        expect(admitted).toBe(one + other);
        await readAtBoth(token);
        await without([gateway.redis], async () => {
          admitted += await admittedByBoth(token, 70);
        });
        expect(admitted).toBe(limit);
      });
    });

    it('is away: the admissions of one of two edges are exceeded by the share of the other at most', async () => {
      await withinAMinute(async () => {
        const token = await issue({ requestsPerMinute: limit });
        let admitted = await admittedBy(0, token, limit);
        expect(admitted).toBe(limit);
        await without([gateway.redis], async () => {
          admitted += await admittedByBoth(token, 70);
        });
        admitted += await admittedByBoth(token, 10);
        expect(admitted).toBeLessThanOrEqual(limit + limit / 2);
      });
    });
  });

  describe('at most the limit and 5 % is admitted while clients go on asking, one edge much more', () => {
    const faults = {
      'Redis is killed': () => killable(gateway.redis),
      'Redis is paused': () => pausable(gateway.redis),
      'a limiter is killed': () => killable(gateway.replicas.limiter[0]),
      'a limiter is paused': () => pausable(gateway.replicas.limiter[0]),
      'an edge is killed': () => killable(gateway.replicas['edge-router'][1]),
      'an edge is paused': () => pausable(gateway.replicas['edge-router'][1]),
    };
    const inShortForm = ['Redis is killed', 'a limiter is paused'];
    const chosen = Object.entries(faults).filter(([name]) => isLong || inShortForm.includes(name));

    it.each(chosen)('and %s', async (name, target) => {
      await withinAMinute(async () => {
        const token = await issue({ requestsPerMinute: limit });
        const load = { isOver: false, admitted: 0 };
        const askOn = async (edge: number) => {
          for (; !load.isOver; await sleep(100)) {
            const admitted = await admittedBy(edge, token, 1).catch(() => 0);
            load.admitted += admitted;
          }
        };
        const clients = [0, 0, 0, 1].map(askOn);
        // Half of the limit is free when the outage begins.
        await expect.poll(() => load.admitted, { interval: 10 }).toBeGreaterThan(limit / 2);
        await without([target()], () => sleep(8_000));
        load.isOver = true;
        await Promise.all(clients);
        process.stdout.write(`${name}: ${load.admitted} of ${limit}\n`);
        expect(load.admitted).toBeGreaterThanOrEqual(limit);
        expect(load.admitted).toBeLessThanOrEqual(1.05 * limit);
      });
    });
  });

  describe('the limiters', () => {
    const limiters = () => gateway.replicas.limiter;

    it('are away: two edges together admit the limit, and no more when they are back', async () => {
      await withinAMinute(async () => {
        const token = await issue({ requestsPerMinute: limit });
        let admitted = 0;
        await without(limiters(), async () => {
          admitted += await admittedByBoth(token, 70);
        });
        expect(admitted).toBe(limit);
        admitted += await admittedByBoth(token, 10);
        expect(admitted).toBe(limit);
      });
    });

    it('are away, and come back one after the other while callers send requests: two edges together admit the limit', async () => {
      await withinAMinute(async () => {
        const token = await issue({ requestsPerMinute: limit });
        const paused = limiters().map((limiter, n) => ({
          kill: () => limiter.pause(),
          async restart() {
            await sleep(n * 350);
            await limiter.resume();
          },
        }));
        expect(await admittedThroughOutageOf(paused, token)).toBe(limit);
      });
    });

    it('are away: each edge says so once, and counts the charges that wait', async () => {
      const token = await issue({ tokensPerDay: 1_000_000 });
      const { adminUrl } = gateway.replicas['edge-router'][0] ?? { adminUrl: '' };
      const charges = () => readMetric(adminUrl, 'gateway_edge_faults_total', 'part="settle"');
      const before = { charges: await charges(), lines: linesOfEdges.length };
      await without(limiters(), async () => {
        for (let n = 0; n < 5; n++) expect(await question(token)).toBe(200);
        expect(await charges()).toBe(before.charges + 5);
        const linesWith = (text: string) => linesOfEdges.slice(before.lines).filter((line) => line.includes(text));
        const edges = gateway.replicas['edge-router'].length;
        // An edge without requests notices by its next heartbeat.
        await expect.poll(() => linesWith('the limiter does not answer').length).toBe(edges);
        expect(linesWith('a background task failed')).toEqual([]);
      });
    });

    it('are away: a limit that cannot be divided is not exceeded either', async () => {
      const tokens = await Promise.all([1, 3].map((requestsPerMinute) => issue({ requestsPerMinute })));
      const admitted: number[] = [];
      await without(limiters(), async () => {
        for (const token of tokens) admitted.push(await admittedByBoth(token, 5));
      });
      expect(admitted).toEqual([1, 3]);
    });

    it('are away: the edges start from what each of them had admitted', async () => {
      await withinAMinute(async () => {
        const token = await issue({ requestsPerMinute: limit });
        let admitted = await admittedByBoth(token, 20);
        expect(admitted).toBe(40);
        await readAtBoth(token);
        await without(limiters(), async () => {
          admitted += await admittedByBoth(token, 70);
        });
        expect(admitted).toBe(limit);
      });
    });

    it('are away: the admissions of one of two edges are exceeded by the share of the other at most', async () => {
      await withinAMinute(async () => {
        const token = await issue({ requestsPerMinute: limit });
        let admitted = await admittedBy(0, token, limit);
        expect(admitted).toBe(limit);
        await without(limiters(), async () => {
          admitted += await admittedByBoth(token, 70);
        });
        admitted += await admittedByBoth(token, 10);
        expect(admitted).toBeLessThanOrEqual(limit + limit / 2);
      });
    });

    it('are away: a spent day budget stays spent, also one that is spent meanwhile', async () => {
      const spent = await issue({ tokensPerDay: 3 });
      const spentMeanwhile = await issue({ tokensPerDay: 3 });
      const { publicUrl: baseUrl = '' } = gateway.replicas['edge-router'][0] ?? {};
      const remaining = async () => (await usageOf({ baseUrl }, spentMeanwhile.text)).limits.tokensPerDay?.remaining;
      expect(await question(spent)).toBe(200);
      await without(limiters(), async () => {
        expect(await question(spent)).toBe(429);
        expect(await question(spentMeanwhile)).toBe(200);
        expect(await question(spentMeanwhile)).toBe(429);
        expect(await remaining()).toBe(0);
      });
      await expect.poll(remaining).toBe(0);
    });
  });

  /** A request that a provider answers, at the first edge. */
  async function question(token: TestToken): Promise<number> {
    const { publicUrl = '' } = gateway.replicas['edge-router'][0] ?? {};
    const response = await fetch(`${publicUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token.text}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gateway/claude', messages: [{ role: 'user', content: 'hello there' }] }),
      signal: AbortSignal.timeout(roomMs(20_000)),
    });
    await response.arrayBuffer();
    return response.status;
  }
});
