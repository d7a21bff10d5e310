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

  const open = (isRepeatable = false) => {
    const settings = redisSettings.required(new EnvReader({ REDIS_URL: server.url }), '');
    const faults: string[] = [];
    let closes = 0;
    const onFault = (reason: string) => void faults.push(reason);
    const redis = openRedis({ settings, timeoutMs, isRepeatable, onFault });
    redis.on('close', () => {
      closes += 1;
    });
    onTestFinished(() => redis.disconnect());
    return { redis, faults, closes: () => closes };
  };
  const connect = async () => {
    const opened = open();
    await opened.redis.connect();
    return opened;
  };

  it('gives a command up that is not answered in time', async () => {
    const { redis } = await connect();
    await server.pause();
    await expect(redis.get('a')).rejects.toThrow('in time');
    await server.resume();
    await expect.poll(() => redis.ping()).toBe('PONG');
  });

  it('is made anew when no answer comes for a while', async () => {
    const { redis, faults, closes } = await connect();
    await server.pause();
    await expect.poll(closes).toBe(1);
    expect(faults[0]).toBe(`Redis sent no answer for ${5 * timeoutMs} ms.`);
    await server.resume();
    await expect.poll(() => redis.get('a').catch(String)).toBeNull();
  });

  it('is made anew when the server accepts it and says nothing', async () => {
    await server.pause();
    const { redis, faults } = open(true);
    void redis.connect().catch(() => undefined);
    await expect.poll(() => faults[0]).toBe(`Redis sent no answer for ${5 * timeoutMs} ms.`);
    await server.resume();
    await expect.poll(() => redis.get('a').catch(String)).toBeNull();
  });

  it('takes answers that came while this process stood still, however long, and stays', async () => {
    const { redis, faults, closes } = await connect();
    const answers = [redis.get('a'), redis.incr('counted'), redis.incr('counted')];
    await new Promise(setImmediate);
    standStill(6 * timeoutMs);
    expect(await Promise.all(answers)).toEqual([null, 1, 2]);
    expect(await redis.incr('counted')).toBe(3);
    expect([faults, closes()]).toEqual([[], 0]);
  });
});

/** Blocks the process, as if it were paused or got no CPU time. */
function standStill(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}
