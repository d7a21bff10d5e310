import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSimulator } from '@gateway/simulator';
import { freePort, type TestBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMetric } from '../client/metrics.ts';
import { issueToken } from '../client/tokens.ts';
import { responsesModels, writeSmallGatewayFile } from '../topologies/gateway-file.ts';
import { ownBackends } from '../topologies/own-backends.ts';
import { type RunningServices, startServices } from '../topologies/start-services.ts';
import { suiteSettings } from '../topologies/topology.ts';
import { type Balancer, openBalancer } from './limit-window-balancer.ts';
import { type Answer, ask, runLoad } from './limit-window-load.ts';
import { AdmissionLog } from './limit-window-log.ts';
import { expectedRemaining, proveWindow } from './limit-window-proof.ts';

const isLong = process.env.FAULTS === 'long';
/**
 * The short form starts with a full window, so that slots become free all the time; the long form
 * with an empty one.
 */
const form = isLong
  ? { calmMs: 240_000, killedMs: 130_000, startsFull: false }
  : { calmMs: roomMs(10_000), killedMs: roomMs(9_000), startsFull: true };
const limit = 600;
const clientsPerEdge = 200;
/**
 * The pause of a client after each answer: the machine must be able to send enough requests to find
 * each free slot.
 */
const pauseMs = roomMs(1_000);

/** Four edges and two limiters behind one address, and eight hundred clients of one token. */
describe('requests per minute, over many processes', () => {
  const stack = new AsyncDisposableStack();
  let backends: TestBackends;
  let balancer: Balancer;
  let running: RunningServices;

  beforeAll(async () => {
    balancer = stack.use(await openBalancer());
    const folder = await mkdtemp(join(tmpdir(), 'gateway-faults-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const simulator = stack.use(await startSimulator({ responsesModels }));
    backends = await ownBackends(stack);
    running = stack.use(
      await startServices({
        replicas: { 'edge-router': 4, limiter: 2, admin: 0 },
        env: {
          ...suiteSettings,
          LOG_LEVEL: 'error',
          DRAIN_TIMEOUT_SECONDS: '3',
          PORT: String(await freePort()),
          GATEWAY_CONFIG: await writeSmallGatewayFile(folder, simulator.url),
          GATEWAY_DATA: join(folder, 'data'),
          TOKEN_HASH_KEY: Buffer.alloc(32, 7).toString('base64'),
          REDIS_URL: backends.redisUrl,
          NATS_URL: backends.natsUrl,
          DATABASE_URL: backends.postgresUrl,
        },
        envOf: { 'edge-router': { LIMITER_URL: balancer.url } },
      }),
    );
    balancer.leadTo(running.replicas.limiter.map(({ grpcUrl }) => grpcUrl));
  });
  afterAll(() => stack.disposeAsync());

  const edges = () => running.replicas['edge-router'];
  const edgeUrls = () => edges().map(({ publicUrl = '' }) => publicUrl);

  /** The sum of a counter over all processes of a service. */
  async function counted(service: 'edge-router' | 'limiter', name: string): Promise<number> {
    const values = await Promise.all(running.replicas[service].map(({ adminUrl }) => readMetric(adminUrl, name)));
    return values.reduce((sum, value) => sum + value, 0);
  }

  /**
   * Runs the clients on a token of its own while `meanwhile` runs, and returns requests, answers
   * and the log.
   */
  async function underLoad(durationMs: number, meanwhile: () => Promise<void> = async () => undefined) {
    const token = await issueToken(running, { requestsPerMinute: limit });
    await using log = await AdmissionLog.open(backends.redisUrl, token.tokenId);
    if (form.startsFull) await log.fill(limit);
    log.follow();
    const stop = new AbortController();
    const fromMs = Date.now();
    const load = runLoad({
      urls: edgeUrls(),
      token: token.text,
      clientsPerUrl: clientsPerEdge,
      pauseMs,
      signal: stop.signal,
    });
    const timer = setTimeout(() => stop.abort(), durationMs);
    await meanwhile();
    const answers = await load;
    clearTimeout(timer);
    await log.read();
    const demand = { fromMs: fromMs + 1.5 * pauseMs, untilMs: fromMs + durationMs - 1.5 * pauseMs };
    return { token, fromMs, answers, instants: log.instants, demand };
  }

  it('admits at most the limit in any 60 seconds, and refuses no request while there is a free slot', async () => {
    const { token, fromMs, answers, instants, demand } = await underLoad(form.calmMs);
    const proof = proveWindow({ limit, instants, answers, demand });
    tell('4 edges, 2 limiters, 800 clients', proof);

    expect(proof.mostInAnyWindow).toBe(limit);
    expect(proof.smallestSlackMs).toBeGreaterThanOrEqual(0);
    expect(proof.refusalsWithFreeSlot).toBe(0);
    expect(proof.freeForMs.slots).toBeGreaterThan(50);
    // A slot is taken at the next request: the slower the machine, the later.
    const intended = (clientsPerEdge * edges().length * form.calmMs) / pauseMs;
    expect(proof.freeForMs.most).toBeLessThan(roomMs(2_000) * Math.max(1, intended / answers.length));

    const admitted = answers.filter(({ status }) => status === 400);
    const fresh = instants.filter((atMs) => atMs >= fromMs);
    expect(answers.filter(({ status }) => status !== 400 && status !== 429)).toEqual([]);
    expect(admitted).toHaveLength(fresh.length);
    const remaining = admitted.map((answer) => answer.remaining).toSorted((a, b) => a - b);
    expect(remaining).toEqual(expectedRemaining(instants, limit, fromMs));
    expect(answers.filter(isUntruthfulRefusal)).toEqual([]);

    for (const { adminUrl } of running.replicas.limiter)
      expect(await readMetric(adminUrl, 'gateway_limiter_decisions_total')).toBeGreaterThan(100);
    expect(await counted('limiter', 'gateway_limiter_store_outages_total')).toBe(0);
    expect(await counted('edge-router', 'gateway_edge_local_admissions_total')).toBe(0);

    // The edges had been trying for a while when the limiters started.
    expect(balancer.connections).toBe(edges().length);

    await obeyARefusal(token.text);
  });

  it('continues to answer, and keeps to the limit in Redis, while one limiter after the other is killed', async () => {
    const localBefore = await counted('edge-router', 'gateway_edge_local_admissions_total');
    const { answers, instants, demand } = await underLoad(form.killedMs, async () => {
      for (const limiter of running.replicas.limiter) {
        await sleep(form.killedMs / 6);
        await limiter.kill();
        await sleep(form.killedMs / 12);
        await limiter.restart();
      }
    });
    const local = (await counted('edge-router', 'gateway_edge_local_admissions_total')) - localBefore;
    const proof = proveWindow({ limit, instants, answers, demand });
    tell(`the same, both limiters killed in turn; ${local} decisions by edges alone`, proof);

    expect(answers.filter(({ status }) => status !== 400 && status !== 429)).toEqual([]);
    expect(proof.mostInAnyWindow).toBeLessThanOrEqual(limit);
    expect(proof.smallestSlackMs ?? 0).toBeGreaterThanOrEqual(0);
    expect(proof.refusalsWithFreeSlot).toBeLessThanOrEqual(local);
    // Beyond Redis' admissions there are only those of edges while no limiter answered them.
    const earlier = form.startsFull ? limit : 0;
    expect(Math.abs(proof.admitted - (proof.entries - earlier))).toBeLessThanOrEqual(local);
    expect(Math.max(...answers.map(({ receivedMs, sentMs }) => receivedMs - sentMs))).toBeLessThan(roomMs(10_000));
  });

  /** Without other clients: a client that waits as long as the answer says is admitted. */
  async function obeyARefusal(token: string): Promise<void> {
    const [url = ''] = edgeUrls();
    let refusal: Answer | undefined;
    while (refusal?.status !== 429) refusal = await ask(url, token);
    await sleep((refusal.retryAfterSeconds ?? 0) * 1_000);
    expect((await ask(url, token)).status).toBe(400);
  }
});

/**
 * A refusal reports 0 remaining and a waiting time: never less than the time until the slot is
 * free, and less than a second more.
 */
function isUntruthfulRefusal({ status, remaining, retryAfterSeconds = 0, retryAtMs = 0, ...times }: Answer): boolean {
  if (status !== 429) return remaining < 0;
  const waitsMs = retryAfterSeconds * 1_000;
  const isTooShort = times.receivedMs + waitsMs < retryAtMs - 1;
  const isTooLong = retryAfterSeconds > 1 && times.sentMs + waitsMs >= retryAtMs + 1_001;
  return remaining !== 0 || retryAfterSeconds < 1 || isTooShort || isTooLong;
}

function tell(what: string, proof: ReturnType<typeof proveWindow>): void {
  process.stderr.write(`limit window, ${what}: ${JSON.stringify(proof)}\n`);
}
