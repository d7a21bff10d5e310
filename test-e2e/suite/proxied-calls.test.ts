import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import { GrpcServer, openChannel } from '@gateway/rpc/grpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNginxProcess } from '../bench/systems/nginx-process.ts';

const route = serviceRoute(LimiterService, {
  admit: async ({ key }) => ({ status: { localDay: key } }),
  settle: () => ({}),
  peek: () => ({}),
  heartbeat: () => ({}),
  reserve: () => ({}),
  renew: () => ({}),
  admitStream: async function* (requests) {
    for await (const { checks } of requests)
      yield { decisions: checks.map(({ key }) => ({ status: { localDay: key } })) };
  },
});

describe('calls between services through nginx', () => {
  const stack = new AsyncDisposableStack();
  let url = '';

  beforeAll(async () => {
    const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes: [route] });
    stack.defer(() => server.stop(1_000));
    const nginx = stack.use(
      await startNginxProcess({ http: (port) => proxyTo(server.port, port), stopSignal: 'SIGTERM' }),
    );
    url = `http://127.0.0.1:${nginx.port}`;
  });
  afterAll(() => stack.disposeAsync());

  it('arrive as they were made, large and many', async () => {
    using channel = openChannel(url);
    const limiter = channel.client(LimiterService);
    const keys = [1, 100, 20_000, 300_000, 3_000_000].map((size, index) => `${index}`.repeat(size));
    const answers = await Promise.all([...keys, ...keys].map((key) => limiter.admit({ key })));
    expect(answers.map(({ status }) => status?.localDay)).toEqual([...keys, ...keys]);
  });

  it('share a stream as long as they run', async () => {
    using channel = openChannel(url);
    const requests = async function* () {
      for (let n = 0; n < 50; n++) yield { checks: [{ key: `${n}`.repeat(10_000) }] };
    };
    let count = 0;
    for await (const { decisions } of channel.client(LimiterService).admitStream(requests())) {
      expect(decisions[0]?.status?.localDay).toBe(`${count++}`.repeat(10_000));
    }
    expect(count).toBe(50);
  });

  it('of several clients may share a connection behind the proxy', async () => {
    const answers = Array.from({ length: 5 }, async (_, n) => {
      using channel = openChannel(url);
      return (await channel.client(LimiterService).admit({ key: `${n}` })).status?.localDay;
    });
    expect(await Promise.all(answers)).toEqual(['0', '1', '2', '3', '4']);
  });
});

function proxyTo(serverPort: number, port: number): string {
  return `  upstream service { server 127.0.0.1:${serverPort}; keepalive 8; }
  server {
    listen 127.0.0.1:${port} http2;
    client_max_body_size 0;
    location / {
      grpc_pass grpc://service;
    }
  }`;
}
