import { expect, it } from 'vitest';
import { startLoneRedis, startRedisCluster, startRedisSentinels } from '../src/servers/redis-groups.ts';
import type { TestServer } from '../src/servers/run-server.ts';

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
  const masters = new Set<TestServer>();
  // One after the other: hundreds of concurrent clients starve the servers, which then consider
  // each other down.
  for (let n = 0; n < 50; n += 1) masters.add(await group.masterOf(`key ${n}`));
  expect(masters).toEqual(new Set(group.servers.slice(0, 3)));
});
