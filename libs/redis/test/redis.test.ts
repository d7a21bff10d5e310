import { EnvReader } from '@gateway/config';
import { startRedis, type TestServer } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openRedis, redisSettings } from '../src/index.ts';

const silentMs = roomMs(1_000);

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
    const redis = openRedis({ settings, silentMs, isRepeatable, onFault });
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

  it.each([true, false])(
    'fails its commands when the server gives no sign of life (repeatable: %s)',
    async (isRepeatable) => {
      const { redis } = open(isRepeatable);
      await redis.connect();
      await server.pause();
      await expect(redis.get('a')).rejects.toThrow();
      await server.resume();
      await expect.poll(() => redis.ping().catch(String)).toBe('PONG');
    },
  );

  it('waits for a server that is slow, as long as it gives a sign of life', async () => {
    const { redis, faults, closes } = await connect();
    // Each is shorter than the silence that ends a connection, all together are longer.
    for (let n = 0; n < 6; n++) expect(await redis.eval(`${busyScript} return 1`, 0, silentMs / 2)).toBe(1);
    expect([faults, closes()]).toEqual([[], 0]);
  });

  it('is made anew when no answer comes for a while', async () => {
    const { redis, faults, closes } = await connect();
    await server.pause();
    await expect.poll(closes).toBe(1);
    expect(faults[0]).toBe(`Redis sent no answer for ${silentMs} ms.`);
    await server.resume();
    await expect.poll(() => redis.get('a').catch(String)).toBeNull();
  });

  it('is made anew when the server accepts it and says nothing', async () => {
    await server.pause();
    const { redis, faults } = open(true);
    void redis.connect().catch(() => undefined);
    await expect.poll(() => faults[0]).toBe(`Redis sent no answer for ${silentMs} ms.`);
    await server.resume();
    await expect.poll(() => redis.get('a').catch(String)).toBeNull();
  });

  it('takes answers that came while this process stood still, however long, and stays', async () => {
    const { redis, faults, closes } = await connect();
    const answers = [redis.get('a'), redis.incr('counted'), redis.incr('counted')];
    await new Promise(setImmediate);
    standStill(3 * silentMs);
    expect(await Promise.all(answers)).toEqual([null, 1, 2]);
    expect(await redis.incr('counted')).toBe(3);
    expect([faults, closes()]).toEqual([[], 0]);
  });
});

/** Keeps the server busy for so many milliseconds. */
const busyScript = `
  local function now() local time = redis.call('TIME') return time[1] * 1000 + time[2] / 1000 end
  local endMs = now() + ARGV[1]
  while now() < endMs do end
`;

/** Blocks the process, as if it were paused or got no CPU time. */
function standStill(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}
