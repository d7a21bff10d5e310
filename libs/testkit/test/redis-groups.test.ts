import { expect, it } from 'vitest';
import { startLoneRedis, startRedisCluster, startRedisSentinels } from '../src/servers/redis-groups.ts';

it('a Redis with TLS and a password answers nobody else', async () => {
  await using group = await startLoneRedis({ hasTls: true, password: 'p@ss' });
  const [server] = group.servers;
  expect(server && (await group.ask(server, 'SET', 'a', '1'))).toBe('OK\n');
});

it('Sentinels name a master that replicas follow', async () => {
  await using group = await startRedisSentinels({ hasTls: true, password: 'p@ss' });
  expect(await group.masterOf('a')).toBe(group.servers[0]);
});

it('a cluster has three masters, each of a third of all keys', async () => {
  await using group = await startRedisCluster({ hasTls: true, password: 'p@ss' });
  const masters = await Promise.all(Array.from({ length: 50 }, (_, n) => group.masterOf(`key ${n}`)));
  expect(new Set(masters)).toEqual(new Set(group.servers.slice(0, 3)));
});
