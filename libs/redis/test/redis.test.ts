import { EnvReader } from '@gateway/config';
import { startRedis, type TestServer } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openRedis, redisSettings } from '../src/index.ts';

const timeoutMs = roomMs(500);

describe('a connection to Redis', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startRedis();
    return () => server[Symbol.asyncDispose]();
  });

  const connect = async () => {
    const settings = redisSettings.required(new EnvReader({ REDIS_URL: server.url }), '');
    const redis = openRedis({ settings, timeoutMs, isRepeatable: false });
    await redis.connect();
    onTestFinished(() => redis.disconnect());
    return redis;
  };

  it('gives a command up that is not answered in time', async () => {
    const redis = await connect();
    await server.pause();
    await expect(redis.ping()).rejects.toThrow('in time');
    await server.resume();
    await expect.poll(() => redis.ping()).toBe('PONG');
  });

  it('takes an answer that came while this process stood still', async () => {
    const redis = await connect();
    const answers = [redis.ping(), redis.incr('counted'), redis.incr('counted')];
    await new Promise(setImmediate);
    standStill(2 * timeoutMs);
    expect(await Promise.all(answers)).toEqual(['PONG', 1, 2]);
  });
});

/** Blocks the process, as if it were paused or got no CPU time. */
function standStill(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}
