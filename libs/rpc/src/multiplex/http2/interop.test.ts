import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { GrpcServer } from '../../grpc-server.ts';
import { type Client, serviceRoute } from '../../service-types.ts';
import { PlayService } from '../__fixtures__/play-service.ts';
import type { BatchListener, BatchTransport } from '../batch-transport.ts';
import { ClientSession } from '../client-session.ts';
import { defaultLimits as limits } from '../limits.ts';
import { multiplexedClient } from '../multiplexed-client.ts';
import { GrpcJsServer, openGrpcJsStream } from './__fixtures__/grpc-js-peers.ts';
import { openStream } from './open-stream.ts';

interface Value {
  readonly value: Uint8Array;
}

let lastSignal: AbortSignal | undefined;

const route = serviceRoute(PlayService, {
  unary: async ({ value }, { signal }) => {
    lastSignal = signal;
    if (String(value) === 'hold') await once(signal, 'abort');
    return { value };
  },
  serverStream: async function* () {},
  clientStream: async () => ({}),
  bidiStream: async function* (requests: AsyncIterable<Value>) {
    for await (const { value } of requests) yield { value };
  },
});

interface RunningServer {
  readonly address: string;
  stop(graceMs: number): Promise<void>;
}

const servers = {
  'a server of ours': async (): Promise<RunningServer> => {
    const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes: [route] });
    return { address: `127.0.0.1:${server.port}`, stop: (graceMs) => server.stop(graceMs) };
  },
  'a server of grpc-js': (): Promise<RunningServer> => GrpcJsServer.listen([route]),
};

const clients = { 'a client of ours': openStream, 'a client of grpc-js': openGrpcJsStream };

let opened: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of opened.reverse()) await close();
  opened = [];
});

interface Peers {
  readonly client: Client<typeof PlayService>;
  readonly session: ClientSession;
  readonly server: RunningServer;
  readonly events: string[];
}

type Open = <L extends BatchListener>(address: string, listen: (transport: BatchTransport) => L) => L;

async function connect(open: Open, listen: () => Promise<RunningServer>): Promise<Peers> {
  const server = await listen();
  opened.push(() => server.stop(0));
  const events: string[] = [];
  const keeper = {
    onReady: () => events.push('ready'),
    onDraining: () => events.push('draining'),
    onOver: ({ message }: Error) => events.push(message),
  };
  const session = open(
    server.address,
    (transport) => new ClientSession(transport, { limits, heartbeatMs: 5_000 }, keeper),
  );
  await expect.poll(() => events).toEqual(['ready']);
  const dispatcher = { dispatch: (call: Parameters<ClientSession['start']>[0]) => session.start(call) };
  return { client: multiplexedClient(PlayService, dispatcher, limits), session, server, events };
}

const pairs = Object.entries(clients).flatMap(([client, open]) =>
  Object.entries(servers).map(([server, listen]) => ({ client, server, open, listen })),
);

describe.each(pairs)('$client and $server', ({ open, listen }) => {
  it('carry calls with messages of any size, many at once', async () => {
    const { client } = await connect(open, listen);
    const sizes = [0, 1, 100, 16_384, 65_535, 300_000, 2_500_000];
    const echoed = sizes.map(async (size) => {
      const { value } = await client.unary({ value: Buffer.alloc(size, size % 251) });
      return Buffer.alloc(size, size % 251).equals(value);
    });
    expect(await Promise.all(echoed)).toEqual(sizes.map(() => true));
  });

  it('carry long streams both ways at once', async () => {
    const { client } = await connect(open, listen);
    const piece = (call: number, index: number) => Buffer.alloc(256 * 1024, 31 * call + index);
    const echo = async (call: number) => {
      const requests = async function* () {
        for (let index = 0; index < 16; index++) yield { value: piece(call, index) };
      };
      let count = 0;
      for await (const { value } of client.bidiStream(requests()))
        expect(piece(call, count++).equals(value)).toBe(true);
      return count;
    };
    expect(await Promise.all([1, 2, 3, 4].map(echo))).toEqual([16, 16, 16, 16]);
  });

  it('let running calls end when the server stops', async () => {
    const { client, server, events } = await connect(open, listen);
    const asked = Promise.withResolvers<Value>();
    const requests = async function* () {
      yield { value: Buffer.of(1) };
      yield await asked.promise;
    };
    const echoes = client.bidiStream(requests())[Symbol.asyncIterator]();
    await echoes.next();
    const stopped = server.stop(10_000);
    await expect.poll(() => events).toEqual(['ready', 'draining']);
    asked.resolve({ value: Buffer.of(2) });
    expect((await echoes.next()).value?.value[0]).toBe(2);
    expect((await echoes.next()).done).toBe(true);
    await stopped;
    expect(events[2]).toBe('The server ended the stream of calls.');
  });

  it('end their connection when the client leaves', async () => {
    const { session, server, events } = await connect(open, listen);
    session.drain();
    await expect.poll(() => events).toEqual(['ready', 'draining', 'The server ended the stream of calls.']);
    await server.stop(10_000);
  });

  it('tell the handlers when the client breaks off', async () => {
    const { client, session } = await connect(open, listen);
    lastSignal = undefined;
    const held = client.unary({ value: Buffer.from('hold') });
    await expect.poll(() => lastSignal).toBeDefined();
    session.abandon();
    await expect(held).rejects.toMatchObject({ status: 'unavailable' });
    await expect.poll(() => lastSignal?.aborted).toBe(true);
  });

  it('fail their calls when the server is gone', async () => {
    const { client, server, events } = await connect(open, listen);
    lastSignal = undefined;
    const held = client.unary({ value: Buffer.from('hold') });
    await expect.poll(() => lastSignal).toBeDefined();
    const failed = expect(held).rejects.toMatchObject({ status: 'unavailable' });
    await server.stop(0);
    await failed;
    expect(events.at(-1)).toBe('The connection was lost.');
  });
});
