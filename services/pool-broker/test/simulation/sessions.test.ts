import type { MessageInitShape } from '@bufbuild/protobuf';
import { AttemptResult, type AttemptSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount } from '../../src/__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../../src/service.ts';
import { MemoryPoolStore } from '../../src/store/memory-pool-store.ts';
import { randomNumbers } from './__fixtures__/random-numbers.ts';

const startMs = Date.parse('2026-11-20T12:00:00Z');
const sessions = Array.from({ length: 1_000 }, (_, n) => `session ${n}`);
const accountCount = 20;

/** Two replicas of the broker on one store, which are asked in turn. */
function poolOf() {
  const time = new ManualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const store = new MemoryPoolStore();
  const gateway = gatewayWith(Array.from({ length: accountCount }, (_, n) => sampleAccount('responses', `a${n}`)));
  const replicas = [1, 2].map((seed) => {
    const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
    const service = createPoolBrokerService({ gateway }, runtime, { store, random: randomNumbers(seed) });
    return directClient(service.routes[0]);
  });
  let asked = 0;
  /**
   * Makes a request of a session that is limited at these accounts and served by the first other
   * one.
   */
  const serve = async (affinityKey: string, limitedAt: readonly string[] = []) => {
    const pools = replicas[asked++ % replicas.length] ?? expect.fail();
    const attempts: MessageInitShape<typeof AttemptSchema>[] = [];
    for (;;) {
      const { result } = await pools.acquire({ model: 'gateway/sterk', affinityKey, attempts });
      const lease = result.case === 'lease' ? result.value : expect.fail(`no lease but ${result.case}`);
      if (!limitedAt.includes(lease.accountId)) {
        time.advanceMs(20);
        await pools.report({ attempt: { lease, report: { result: AttemptResult.SUCCEEDED } }, affinityKey });
        return lease.accountId;
      }
      const retryAtMs = time.nowMs + 300_000;
      attempts.push({ lease, report: { result: AttemptResult.RATE_LIMITED, retryAtMs } });
    }
  };
  const serveAll = async (limitedAt: readonly string[] = []) => {
    const places = new Map<string, string>();
    for (const session of sessions) places.set(session, await serve(session, limitedAt));
    return places;
  };
  return { time, serveAll };
}

/**
 * The deviation of counts from an even distribution. For twenty places, the probability of a value
 * above 43.8 is one in a thousand.
 */
function chiSquare(counts: readonly number[]): number {
  const even = sessions.length / counts.length;
  return counts.reduce((sum, count) => sum + (count - even) ** 2 / even, 0);
}

describe('a thousand sessions over twenty accounts', () => {
  it('spread evenly, stay put while their account serves, and move once when it is limited', async () => {
    const { time, serveAll } = poolOf();
    const first = await serveAll();
    const counts = Map.groupBy(first.values(), (accountId) => accountId);
    expect(counts.size).toBe(accountCount);
    const spread = chiSquare([...counts.values()].map(({ length }) => length));
    expect(spread).toBeLessThan(43.8);

    for (let round = 0; round < 3; round++) expect(await serveAll()).toEqual(first);

    const limited = 'responses/a7';
    const moved = await serveAll([limited]);
    const movers = sessions.filter((session) => moved.get(session) !== first.get(session));
    expect(movers).toEqual(sessions.filter((session) => first.get(session) === limited));
    expect(new Set(movers.map((session) => moved.get(session))).size).toBeGreaterThan(10);

    expect(await serveAll()).toEqual(moved);
    time.advanceMs(300_000);
    expect(await serveAll()).toEqual(moved);
    process.stdout.write(
      `\n  ${sessions.length} sessions: chi-square ${spread.toFixed(1)}; ${movers.length} moved, once each\n\n`,
    );
  });
});
