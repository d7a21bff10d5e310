import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { EnvReader } from '@gateway/config';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openRedis, redisSettings, within } from './index.ts';

describe.each(['Redis', 'Sentinels', 'a Redis Cluster'] as const)('a command that %s has not answered', (place) => {
  it.each([true, false])(
    'fails when its connection breaks and new ones are accepted and closed (repeatable: %s)',
    async (isRepeatable) => {
      const { server, redis } = await connected(place, isRepeatable);
      const answer = redis.get('a').catch(String);
      await expect.poll(() => server.received).toContain('get');
      server.closesConnections(true);
      expect(await within(roomMs(5_000), answer)).toMatch(withoutServer);
      expect(await within(roomMs(5_000), redis.get('b')).catch(String)).toMatch(withoutServer);
      server.closesConnections(false);
      server.answers(true);
      await expect.poll(() => redis.get('c').catch(String)).toBe('answer');
    },
  );
});

describe.each(['Redis', 'Sentinels'] as const)('a repeatable command that %s has not answered', (place) => {
  it('is sent again on the next connection, and waits until it is ready and answers', async () => {
    const { server, redis } = await connected(place, true);
    const answer = redis.get('a');
    await expect.poll(() => server.received).toContain('get');
    server.isLoading(true);
    server.breakConnections();
    await expect.poll(() => server.received.filter((name) => name === 'info').length).toBeGreaterThan(2);
    server.isLoading(false);
    server.answers(true);
    expect(await answer).toBe('answer');
    expect(server.received.filter((name) => name === 'get')).toHaveLength(2);
  });
});

const withoutServer = /closed|connected|writeable|retries|unreachable/;

/** A connection to a server that does not answer commands yet. */
async function connected(place: 'Redis' | 'Sentinels' | 'a Redis Cluster', isRepeatable: boolean) {
  const server = await startFakeRedis();
  const sentinels = place === 'Sentinels' ? [await startFakeRedis(server.port), await startFakeRedis(server.port)] : [];
  const url = {
    Redis: `redis://127.0.0.1:${server.port}`,
    Sentinels: `redis-sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}#main`,
    'a Redis Cluster': `redis-cluster://127.0.0.1:${server.port}`,
  }[place];
  const redis = openRedis({ settings: redisSettings.required(new EnvReader({ REDIS_URL: url }), ''), isRepeatable });
  onTestFinished(() => redis.disconnect());
  await redis.connect();
  return { server, redis };
}

/** Answers what the driver asks for each connection, and as a Sentinel where the master is. */
async function startFakeRedis(masterPort?: number) {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const state = { closes: false, answers: false, isLoading: false };
  const server = createServer((socket) => {
    if (state.closes) {
      socket.destroy();
      return;
    }
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
    socket.on('data', (data) => {
      for (const command of data
        .toString()
        .split(/^\*\d+\r\n/m)
        .slice(1)) {
        const [, name = '', , subcommand = ''] = command.toLowerCase().split('\r\n');
        received.push(name);
        if (name !== 'get' || state.answers) socket.write(replyTo(name, subcommand));
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const breakConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    breakConnections();
    server.close();
  });

  function replyTo(name: string, subcommand: string): string {
    if (name === 'get') return text('answer');
    if (name === 'info') return text(`role:master\r\nloading:${state.isLoading ? 1 : 0}\r\nloading_eta_seconds:0.01`);
    if (subcommand === 'get-master-addr-by-name') return `*2\r\n${text('127.0.0.1')}${text(`${masterPort}`)}`;
    if (subcommand === 'slots') return `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n${text('127.0.0.1')}:${port}\r\n`;
    return name === 'sentinel' ? '*0\r\n' : '+OK\r\n';
  }

  return {
    port,
    received,
    breakConnections,
    /** With true, as a load balancer without a server. */
    closesConnections(closes: boolean) {
      state.closes = closes;
      if (closes) breakConnections();
    },
    answers(answers: boolean) {
      state.answers = answers;
    },
    isLoading(isLoading: boolean) {
      state.isLoading = isLoading;
    },
  };
}

function text(value: string): string {
  return `$${value.length}\r\n${value}\r\n`;
}
