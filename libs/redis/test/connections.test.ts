import { copyFile } from 'node:fs/promises';
import { type Environment, EnvReader } from '@gateway/config';
import { CertificateAuthority } from '@gateway/testkit/certificates';
import { type RedisGroup, startLoneRedis, startRedisCluster, startRedisSentinels } from '@gateway/testkit/redis-groups';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it, onTestFinished } from 'vitest';
import { onReconnected, openRedis, redisSettings, within } from '../src/index.ts';

/** A connection to a group, with the reasons why connections have failed so far. */
function open({ url, env }: { readonly url: string; readonly env: Environment }, isRepeatable = false) {
  const settings = redisSettings.required(new EnvReader({ ...env, REDIS_URL: url }), '');
  const faults: string[] = [];
  const onFault = (reason: string) => void faults.push(reason);
  const redis = openRedis({ settings, silentMs: roomMs(2_500), isRepeatable, onFault });
  onTestFinished(() => redis.disconnect());
  return { redis, faults };
}

async function started(group: Promise<RedisGroup>): Promise<RedisGroup> {
  const running = await group;
  onTestFinished(() => running[Symbol.asyncDispose]());
  return running;
}

describe('a connection with TLS', () => {
  it('is refused for servers of other authorities, and says why; files that were replaced count from the next one on', async () => {
    const group = await started(startLoneRedis({ hasTls: true, password: 'right' }));
    const folder = `${group.env.REDIS_CA_FILE}-others`;
    const other = await (await CertificateAuthority.create()).writeFiles(folder, 'other', { names: ['other'] });
    const env = { ...group.env, REDIS_CA_FILE: other.caFile };
    const { redis, faults } = open({ url: group.url, env });
    await expect(redis.connect()).rejects.toThrow();
    expect(faults).toEqual([expect.stringContaining('certificate')]);
    await copyFile(group.env.REDIS_CA_FILE ?? '', other.caFile);
    await expect.poll(() => redis.ping().catch(String)).toBe('PONG');
  });

  it('is refused with another password, and says so once', async () => {
    const group = await started(startLoneRedis({ hasTls: true, password: 'right' }));
    const { redis, faults } = open({ url: group.url.replace('right', 'wrong'), env: group.env });
    let attempts = 0;
    redis.on('reconnecting', () => {
      attempts += 1;
    });
    await expect(redis.connect()).rejects.toThrow();
    await expect.poll(() => attempts).toBeGreaterThan(2);
    expect(faults.filter((reason) => reason.includes('WRONGPASS'))).toHaveLength(1);
    expect(faults.join()).not.toContain('wrong');
  });
});

describe.each([
  ['Sentinels', startRedisSentinels],
  ['a Redis Cluster', startRedisCluster],
])('a connection to %s', (_name, start) => {
  it('fails at once while none of them is there, tells that it was made again, and answers once they are back', async () => {
    const group = await started(start());
    for (const isRepeatable of [true, false]) {
      const { redis } = open(group, isRepeatable);
      let reconnects = 0;
      onReconnected(redis, () => {
        reconnects += 1;
      });
      await redis.connect();
      expect(await redis.set('a', '1')).toBe('OK');
      const all = [...group.sentinels, ...group.servers];
      await Promise.all(all.map((server) => server.kill()));
      // Nothing is queued: an outage of a day must not fill the memory.
      await expect
        .poll(() => within(50, redis.ping()).catch((thrown: Error) => thrown.message))
        .toMatch(/closed|connected|writeable|unreachable|retries/);
      await Promise.all(all.map((server) => server.restart()));
      await expect.poll(() => within(500, redis.set('a', '2')).catch(String)).toBe('OK');
      expect(reconnects).toBeGreaterThan(0);
      redis.disconnect();
    }
  });
});
