import { randomUUID } from 'node:crypto';
import type { AdmitStreamResponse } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { GrpcServer, openChannel } from '@gateway/rpc/grpc';
import { testBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deadline, freshKey, type LimiterClient, type LimiterUnderTest, startLimiter } from './limiter-under-test.ts';

const batchSize = 20;
const limits = { requestsPerMinute: 2_000 };

describe('streams of batches over gRPC', () => {
  const stack = new AsyncDisposableStack();
  let limiter: LimiterUnderTest;
  let client: LimiterClient;
  let driver: Redis;
  beforeAll(async () => {
    const { redisUrl } = await testBackends();
    limiter = stack.use(await startLimiter(redisUrl));
    const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes: limiter.service.routes });
    stack.defer(() => server.stop(1_000));
    client = stack.use(openChannel(`http://127.0.0.1:${server.port}`)).client(LimiterService);
    driver = stack.adopt(new Redis(redisUrl), (opened) => opened.disconnect());
  });
  afterAll(() => stack.disposeAsync());

  const idsOfBatch = () => Array.from({ length: batchSize }, () => randomUUID());

  /**
   * Sends these batches over one stream and returns the admitted ids, up to where the caller
   * leaves.
   */
  async function send(key: string, batches: readonly (readonly string[])[], leavesAfter = Infinity) {
    const left = new AbortController();
    async function* requests() {
      for (const ids of batches) yield { checks: ids.map((requestId) => ({ key, requestId, limits })) };
    }
    const admitted: string[] = [];
    let answered = 0;
    const readAnswer = ({ decisions }: AdmitStreamResponse) => {
      expect(decisions).toHaveLength(batchSize);
      admitted.push(...(batches[answered] ?? []).filter((_, n) => decisions[n]?.refusal === undefined));
      answered += 1;
    };
    try {
      for await (const answer of client.admitStream(requests(), { signal: left.signal })) {
        readAnswer(answer);
        if (answered >= leavesAfter) left.abort();
      }
    } catch (thrown) {
      if (!left.signal.aborted) throw thrown;
    }
    return { admitted, answered };
  }

  it('decide each check once, and give no slot to two, while callers leave in the middle', async () => {
    const key = freshKey();
    const streams = Array.from({ length: 12 }, (_, n) => ({
      batches: Array.from({ length: 40 }, idsOfBatch),
      leavesAfter: n % 2 === 0 ? undefined : 1 + n,
    }));
    const outcomes = await Promise.all(streams.map(({ batches, leavesAfter }) => send(key, batches, leavesAfter)));
    for (const [n, { leavesAfter }] of streams.entries()) {
      if (leavesAfter === undefined) expect(outcomes[n]?.answered).toBe(40);
      else expect(outcomes[n]?.answered).toBeGreaterThanOrEqual(leavesAfter);
    }
    const inWindow = new Set(await driver.zrange(`rl:{${key}}:m`, '0', '-1'));
    const answered = outcomes.flatMap(({ admitted }) => admitted);
    expect(inWindow.size).toBe(limits.requestsPerMinute);
    expect(new Set(answered).size).toBe(answered.length);
    expect(answered.filter((id) => !inWindow.has(id))).toEqual([]);

    // Callers that left repeat their ids: what was admitted before is admitted again, and nothing
    // else.
    const again = await Promise.all(streams.map(({ batches }) => send(key, batches)));
    expect(new Set(again.flatMap(({ admitted }) => admitted))).toEqual(inWindow);
    expect(await driver.zcard(`rl:{${key}}:m`)).toBe(limits.requestsPerMinute);
  });

  it('end for their caller alone when a check is not valid', async () => {
    const key = freshKey();
    const good = send(key, Array.from({ length: 20 }, idsOfBatch));
    const bad = send(key, [idsOfBatch(), ['x'.repeat(101), ...idsOfBatch().slice(1)]]);
    await expect(bad).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await good).answered).toBe(20);
  });

  it('take a batch of many thousands', async () => {
    const key = freshKey();
    async function* one() {
      const checks = Array.from({ length: 5_000 }, (_, n) => ({ key, requestId: `request-${n}`, limits }));
      yield { checks };
    }
    const answers = await Array.fromAsync(client.admitStream(one(), { timeoutMs: roomMs(30_000) }));
    const decisions = answers.flatMap((answer) => answer.decisions);
    expect(decisions.map(({ refusal }) => refusal === undefined)).toEqual(
      Array.from({ length: 5_000 }, (_, n) => n < limits.requestsPerMinute),
    );
  });

  it('leave single calls as they are', async () => {
    const { status } = await client.admit({ key: freshKey(), requestId: 'a', limits }, deadline);
    expect(status?.requests?.remaining).toBe(1_999);
  });
});
