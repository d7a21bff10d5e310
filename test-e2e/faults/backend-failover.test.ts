import { setTimeout as sleep } from 'node:timers/promises';
import { type NatsCluster, type PostgresPair, startNatsCluster, startPostgresPair, untilReady } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { usageStreamNames } from '@gateway/usage-stream';
import { connect } from 'nats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import { type ReplicatedServices, startReplicatedServices } from '../topologies/replicated-services.ts';
import { judgeRequests, type Verdict } from './audit/judge-requests.ts';
import { LedgerTap } from './injections/ledger-tap.ts';
import { Load } from './load/clients.ts';
import { RandomNumbers } from './random-numbers.ts';

const isLong = process.env.FAULTS === 'long';
/** Time until the remaining servers have a leader, and waiting events are stored. */
const electionMs = 12_000;

describe('a gateway on a NATS cluster and a Postgres with a synchronous standby', () => {
  const stack = new AsyncDisposableStack();
  let cluster: NatsCluster;
  let pair: PostgresPair;
  let gateway: ReplicatedServices;
  let load: Load;
  let ledger: LedgerTap;

  beforeAll(async () => {
    [cluster, pair] = await Promise.all([startNatsCluster(), startPostgresPair({ synchronous: true })]);
    stack.use(cluster);
    stack.use(pair);
    const natsUrl = cluster.servers.map(({ url }) => url).join(',');
    const [nats] = cluster.servers;
    if (nats === undefined) throw new Error('the cluster has no server');
    gateway = stack.use(
      await startReplicatedServices({
        replicas: { 'edge-router': 2, 'usage-ingest': 2 },
        eventDelayMs: 15,
        env: { NATS_STREAM_REPLICAS: '3' },
        backends: { nats, natsUrl, postgres: pair.primary, databaseUrl: pair.url('postgres') },
      }),
    );
    ledger = new LedgerTap(pair.primary.url);
    const clients = await Promise.all(
      Array.from({ length: 20 }, async () => ({
        kind: 'personal' as const,
        token: await issueToken(gateway, { kind: 'personal' }),
      })),
    );
    const edges = gateway.replicas['edge-router'].map(({ publicUrl }) => publicUrl ?? '');
    load = new Load({ clients, edges, random: new RandomNumbers(7), pauseMs: 400 });
    await untilReady('the ledger', async () => expect((await ledger.rows()).length).toBeGreaterThan(20));
  });
  afterAll(() => stack.disposeAsync());

  const judge = async () =>
    judgeRequests({
      requests: load.requests,
      recorded: gateway.simulator.requests(),
      rows: await ledger.rows(),
      wiped: [],
    });

  async function leaderOfStream(): Promise<number> {
    const connection = await connect({ servers: cluster.servers.map(({ url }) => new URL(url).host) });
    try {
      const manager = await connection.jetstreamManager();
      const { cluster: state } = await manager.streams.info(usageStreamNames.stream);
      return Number(state?.leader?.split('-').at(-1));
    } finally {
      await connection.close();
    }
  }

  it('records every answer within 10 s while any one NATS server is killed, the leader of the stream among them', async () => {
    const watch = new RowWatch(ledger);
    const startedMs = Date.now();
    for (let round = 0; round < (isLong ? 4 : 1); round++) {
      const victim = cluster.servers[round === 0 ? await leaderOfStream() : round - 1];
      await victim?.kill();
      const killedMs = Date.now();
      // On a busy machine it takes longer until there is something to judge.
      const served = () => load.requests.filter(({ endedMs }) => endedMs > killedMs).length;
      await expect.poll(served, { interval: 100 }).toBeGreaterThan(100);
      await sleep(electionMs);
      await victim?.restart();
      if (isLong) await sleep(10_000);
    }
    const endedMs = Date.now() - electionMs / 2;
    const { requests } = await judge();
    const delaysMs = requests
      .filter(({ request }) => request.endedMs > startedMs && request.endedMs < endedMs)
      .flatMap(({ request, rows }) =>
        rows.map(({ requestId }) => (watch.seenMs(requestId) ?? Infinity) - request.endedMs),
      );
    await watch.stop();
    process.stdout.write(`NATS server killed: ${delaysMs.length} rows, the latest ${Math.max(...delaysMs)} ms late\n`);
    expect(delaysMs.length).toBeGreaterThan(50);
    expect(Math.max(...delaysMs)).toBeLessThan(roomMs(10_000));
  });

  it('continues at the standby once that is promoted, and has every answer exactly once', async () => {
    await pair.primary.kill();
    const killedMs = Date.now();
    await sleep(2_000);
    await pair.promote();
    ledger = new LedgerTap(pair.standby.url);
    const rowsBefore = (await ledger.rows()).length;
    await expect.poll(async () => (await ledger.rows()).length).toBeGreaterThan(rowsBefore + 20);
    process.stdout.write(`Postgres primary killed: rows again after ${Date.now() - killedMs} ms\n`);
    await sleep(2_000);
    await load.stop();
    const countOf = async (verdict: Verdict) =>
      (await judge()).requests.filter((judged) => judged.verdict === verdict).length;
    await expect.poll(() => countOf('lost'), { interval: 500 }).toBe(0);
    for (const verdict of ['lost', 'doubled', 'wrong'] as const) expect(await countOf(verdict), verdict).toBe(0);
    const { unknownRows, requests } = await judge();
    expect(unknownRows).toEqual([]);
    const exact = await countOf('exact');
    process.stdout.write(`${requests.length} requests, ${exact} exact, ${await countOf('estimated')} estimated\n`);
    expect(exact).toBeGreaterThan(100);
    // The ledger has exactly what providers served, in rows and in daily sums.
    const rows = await ledger.rows();
    const answered = rows.filter(({ model }) => model !== '');
    const ofRows = answered.reduce((sum, row) => sum + row.inputTokens + row.outputTokens, 0);
    const days = await ledger.dailyTotals();
    expect(days.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(ofRows);
    expect(days.reduce((sum, { requests }) => sum + requests, 0)).toBe(answered.length);
    expect(gateway.unexpectedEnds).toEqual([]);
  });
});

/** Records when each row of the ledger first appeared, to a quarter of a second. */
class RowWatch {
  readonly #seen = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(ledger: LedgerTap) {
    this.#running = this.#watch(ledger);
  }

  seenMs(requestId: string): number | undefined {
    return this.#seen.get(requestId);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #watch(ledger: LedgerTap): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const nowMs = Date.now();
      for (const { requestId } of await ledger.rows()) {
        if (!this.#seen.has(requestId)) this.#seen.set(requestId, nowMs);
      }
      await sleep(250);
    }
  }
}
