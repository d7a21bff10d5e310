import { create } from '@bufbuild/protobuf';
import { StartSchema } from '@gateway/proto/rpc/v2/multiplex_service_pb.js';
import { describe, expect, it } from 'vitest';
import { servedMethods } from '../served-methods.ts';
import { type CallContext, serviceRoute } from '../service-types.ts';
import { MemoryStream } from './__fixtures__/memory-stream.ts';
import { PlayService } from './__fixtures__/play-service.ts';
import { frameOf, windowBytes } from './call-messages.ts';
import { clientOf } from './channel.ts';
import { ClientSession } from './client-session.ts';
import { ServerSession } from './server-session.ts';

const start = create(StartSchema, { path: '/play.PlayService/BidiStream' });

interface Value {
  readonly value: Uint8Array;
}

const responseBytes = 100_000;
let produced = 0;
let lastContext: CallContext | undefined;

const route = serviceRoute(PlayService, {
  unary: async ({ value }, context) => {
    lastContext = context;
    if (value[0] === 255) await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
    return { value };
  },
  serverStream: async function* (_request, { signal }) {
    for (produced = 0; !signal.aborted; produced++) yield { value: new Uint8Array(responseBytes) };
  },
  clientStream: async (requests) => {
    let size = 0;
    for await (const { value } of requests) size += value.length;
    return { value: Buffer.from(String(size)) };
  },
  bidiStream: async function* (requests: AsyncIterable<Value>) {
    for await (const { value } of requests) yield { value };
  },
});

function open(service = PlayService) {
  const stream = new MemoryStream();
  const { server } = stream;
  const serverSession = new ServerSession(server, { methods: servedMethods([route]) });
  const served = serverSession.serve(server.batches);
  const session = new ClientSession(stream.client);
  const client = clientOf(service, { pick: () => session, untilReady: async () => undefined });
  return { stream, session, serverSession, served, client };
}

const { signal } = new AbortController();

async function turns(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function* only<T>(...items: T[]) {
  yield* items;
}

describe('a stream of calls', () => {
  it('sends all calls of a turn as one batch', async () => {
    const { client, stream } = open();
    const calls = Array.from({ length: 50 }, (_, n) => client.unary({ value: Buffer.of(n) }));
    expect((await Promise.all(calls)).map(({ value }) => value[0])).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(stream.batchesToServer).toBe(1);
  });

  it('carries messages that are larger than the window, both ways', async () => {
    const { client } = open();
    const value = Buffer.alloc(2 * windowBytes, 'x');
    expect(value.equals((await client.unary({ value })).value)).toBe(true);
    expect(String(Buffer.from((await client.clientStream(only({ value }, { value }, { value }))).value))).toBe(
      String(6 * windowBytes),
    );
    let echoes = 0;
    for await (const echo of client.bidiStream(only({ value }, { value }))) {
      expect(value.equals(echo.value)).toBe(true);
      echoes++;
    }
    expect(echoes).toBe(2);
  });

  it('stops a sender whose reader is slow, and no other', async () => {
    const { client } = open();
    const slow = client.serverStream({})[Symbol.asyncIterator]();
    await slow.next();
    await turns();
    const mostAhead = Math.ceil(windowBytes / responseBytes) + 2;
    const stalledAt = produced;
    expect(stalledAt).toBeLessThanOrEqual(1 + mostAhead);
    expect((await client.unary({ value: Buffer.of(7) })).value[0]).toBe(7);
    for (let n = 0; n < 20; n++) await slow.next();
    await turns();
    expect(produced).toBeGreaterThan(stalledAt);
    expect(produced).toBeLessThanOrEqual(21 + mostAhead);
    await slow.return?.();
    await turns();
    const left = produced;
    await turns();
    expect(produced).toBe(left);
  });

  it('refuses to send what the server would not take, and goes on', async () => {
    const { client } = open();
    const value = Buffer.alloc(8 * 1024 * 1024);
    await expect(client.unary({ value })).rejects.toMatchObject({ status: 'internal' });
    await expect(client.clientStream(only({ value }))).rejects.toMatchObject({ status: 'cancelled' });
    expect((await client.unary({ value: Buffer.of(1) })).value[0]).toBe(1);
  });

  it('aborts the handler when its caller aborts, and keeps nothing of the call', async () => {
    const { client, session } = open();
    const controller = new AbortController();
    const call = client.unary({ value: Buffer.of(255) }, { signal: controller.signal });
    await turns(5);
    controller.abort();
    await expect(call).rejects.toMatchObject({ status: 'cancelled' });
    expect(session.inFlight).toBe(0);
    await turns(5);
    expect(lastContext?.signal.aborted).toBe(true);
  });

  it('enforces a deadline on the side of the server too', async () => {
    const { session } = open();
    const call = session.start({
      path: '/play.PlayService/Unary',
      timeoutMs: 20,
      request: Buffer.of(0x0a, 1, 255),
      signal,
    });
    await expect(call[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      status: 'deadline_exceeded',
      message: 'The call took longer than 20 ms.',
    });
    expect(lastContext?.signal.aborted).toBe(true);
  });

  it('lets running calls end after the server has said to go away', async () => {
    const { client, serverSession, session, served } = open();
    const echo = Promise.withResolvers<Value>();
    const running = client.bidiStream(
      (async function* () {
        yield { value: Buffer.of(1) };
        yield await echo.promise;
      })(),
    );
    const iterator = running[Symbol.asyncIterator]();
    await iterator.next();
    serverSession.goAway();
    await session.closing;
    expect(session.inFlight).toBe(1);
    echo.resolve({ value: Buffer.of(2) });
    expect((await iterator.next()).value?.value[0]).toBe(2);
    expect((await iterator.next()).done).toBe(true);
    await served;
  });

  it('answers a method that is not served as plain gRPC does', async () => {
    const { session } = open();
    const call = session.start({ path: '/play.OtherService/Unary', request: Buffer.of(), signal });
    await expect(call[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      status: 'internal',
      message: 'The server does not implement the method /play.OtherService/Unary',
    });
  });

  it.each([
    [
      'uses an id twice',
      [frameOf(2, { case: 'start', value: start }), frameOf(2, { case: 'start', value: start })],
      'The id of a call was used twice.',
    ],
    [
      'sends beyond its credit',
      [
        // The handler waits until the first answer is sent.
        frameOf(1, { case: 'start', value: start }),
        ...Array.from({ length: 6 }, () => frameOf(1, { case: 'message', value: new Uint8Array(windowBytes) })),
      ],
      'The client exceeded its flow-control window.',
    ],
  ])('is ended when the client %s', async (_what, frames, message) => {
    const { stream, served } = open();
    stream.client.write({ frames });
    await expect(served).rejects.toMatchObject({ message });
  });
});
