import { describe, expect, it } from 'vitest';
import { type CallContext, serviceRoute } from '../service-types.ts';
import { Connection } from './__fixtures__/connection.ts';
import { MemoryStream } from './__fixtures__/memory-stream.ts';
import { PlayService } from './__fixtures__/play-service.ts';
import type { BatchListener } from './batch-transport.ts';
import type { Dispatcher } from './client-call.ts';
import { ClientSession } from './client-session.ts';
import { FrameBatch } from './frame-batch.ts';
import { frameFlag, frameKind, readFrames } from './frames.ts';
import { defaultLimits } from './limits.ts';
import { multiplexedClient } from './multiplexed-client.ts';
import { encodeHello, encodeOpening } from './payloads.ts';
import { servedMethods } from './served-methods.ts';
import { ServerSession } from './server-session.ts';

const limits = { ...defaultLimits, windowBytes: 10_000, maxMessageBytes: 1_000_000, pieceBytes: 4_000 };

interface Value {
  readonly value: Uint8Array;
}

let produced = 0;
let lastContext: CallContext | undefined;

const route = serviceRoute(PlayService, {
  unary: async ({ value }, context) => {
    lastContext = context;
    if (value[0] === 255) await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
    return { value };
  },
  serverStream: async function* (_request, { signal }) {
    for (produced = 0; !signal.aborted; produced++) yield { value: new Uint8Array(1_000) };
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

const methods = servedMethods([route]);
const openConnection = () => Connection.open(route, limits);

const soon = (turns = 50) =>
  Array.from({ length: turns }).reduce<Promise<void>>(
    (before) => before.then(() => new Promise((resolve) => setImmediate(resolve))),
    Promise.resolve(),
  );

async function* only<T>(...items: T[]) {
  yield* items;
}

describe('a stream of calls', () => {
  it('sends all calls of a tick as one message', async () => {
    const { client, stream } = await openConnection();
    const before = stream.messagesToServer;
    const calls = Array.from({ length: 50 }, (_, n) => client.unary({ value: Buffer.of(n) }));
    expect((await Promise.all(calls)).map(({ value }) => value[0])).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(stream.messagesToServer - before).toBe(1);
  });

  it('carries messages that are larger than the window, both ways', async () => {
    const { client } = await openConnection();
    const value = Buffer.alloc(500_000, 'x');
    expect(value.equals((await client.unary({ value })).value)).toBe(true);
    expect(String((await client.clientStream(only({ value }, { value }))).value)).toBe('1000000');
    for await (const echo of client.bidiStream(only({ value }))) expect(value.equals(echo.value)).toBe(true);
  });

  it('stops a sender whose reader is slow, and nobody else', async () => {
    const { client } = await openConnection();
    const slow = client.serverStream({})[Symbol.asyncIterator]();
    await slow.next();
    await soon();
    const stalledAt = produced;
    expect(stalledAt).toBeLessThanOrEqual(13);
    expect((await client.unary({ value: Buffer.of(7) })).value[0]).toBe(7);
    for (let n = 0; n < 20; n++) await slow.next();
    await soon();
    expect(produced).toBeGreaterThan(stalledAt);
    expect(produced).toBeLessThanOrEqual(33);
    await slow.return?.();
    const left = produced;
    await soon();
    expect(produced).toBeLessThanOrEqual(left + 1);
  });

  it('lets small calls pass between the pieces of a large message', async () => {
    const { client } = await openConnection();
    const ended: string[] = [];
    const large = client.unary({ value: Buffer.alloc(500_000) }).then(() => ended.push('large'));
    const small = client.unary({ value: Buffer.of(1) }).then(() => ended.push('small'));
    await Promise.all([large, small]);
    expect(ended).toEqual(['small', 'large']);
  });

  it('refuses to send what the server would not take, and goes on', async () => {
    const { client } = await openConnection();
    await expect(client.unary({ value: Buffer.alloc(1_000_001) })).rejects.toMatchObject({ status: 'internal' });
    expect((await client.unary({ value: Buffer.of(1) })).value[0]).toBe(1);
  });

  it('tells the handler at once when its caller aborts, and keeps nothing of the call', async () => {
    const { client, session } = await openConnection();
    const controller = new AbortController();
    const call = client.unary({ value: Buffer.of(255) }, { signal: controller.signal });
    await soon(5);
    controller.abort();
    await expect(call).rejects.toMatchObject({ status: 'cancelled' });
    expect(session.inFlight).toBe(0);
    await soon(5);
    expect(lastContext?.signal.aborted).toBe(true);
  });

  it('enforces a deadline on the side of the server too', async () => {
    const { heard } = serverThatHears((frames) => {
      frames.add(frameKind.hello, 0, hello);
      frames.add(frameKind.open, 1, encodeOpening({ path: '/play.PlayService/Unary', timeoutMs: 20 }));
      const holds = Buffer.of(0x0a, 1, 255);
      frames.add(frameKind.message | frameFlag.lastPiece | frameFlag.noneFollows, 1, holds);
    });
    await expect.poll(() => heard.at(-1)).toMatchObject({ kind: frameKind.fail, callId: 1 });
    expect(heard.at(-1)?.text).toContain('The call took longer than 20 ms.');
    expect(lastContext?.signal.aborted).toBe(true);
  });

  it('lets running calls end after the server has said to go away', async () => {
    const { client, server, events, session } = await openConnection();
    const echo = Promise.withResolvers<Value>();
    const running = client.bidiStream(
      (async function* () {
        yield { value: Buffer.of(1) };
        yield await echo.promise;
      })(),
    );
    const iterator = running[Symbol.asyncIterator]();
    await iterator.next();
    server.goAway();
    await expect.poll(() => events).toContain('draining');
    expect(session.inFlight).toBe(1);
    echo.resolve({ value: Buffer.of(2) });
    expect((await iterator.next()).value?.value[0]).toBe(2);
    expect((await iterator.next()).done).toBe(true);
    await expect.poll(() => events.at(-1)).toContain('ended');
  });

  it('gives up a peer that says nothing any more', async () => {
    const { events, client, stream } = await openConnection();
    const silent: BatchListener = { onBatch: () => undefined, onEnd: () => undefined, onBroken: () => undefined };
    const other = new MemoryStream({ delay: () => 0 });
    const told: string[] = [];
    other.connect(
      new ClientSession(
        other.client,
        { limits, heartbeatMs: 20 },
        { onReady: () => undefined, onDraining: () => undefined, onOver: ({ message }) => told.push(message) },
      ),
      silent,
    );
    await expect.poll(() => told).toEqual(['The other side does not answer any more.']);
    expect((await client.unary({ value: Buffer.of(3) })).value[0]).toBe(3);
    expect(stream.messagesToServer).toBeGreaterThan(0);
    expect(events).toEqual(['ready']);
  });

  it('answers a method that nobody serves as plain gRPC does', async () => {
    const dispatcher: Dispatcher = { dispatch: (call) => connection.session.start(call) };
    const connection = await openConnection();
    const renamed = { ...PlayService, typeName: 'play.OtherService' };
    await expect(multiplexedClient(renamed, dispatcher, limits).unary({})).rejects.toMatchObject({
      status: 'internal',
      message: 'The server does not implement the method /play.OtherService/Unary',
    });
  });
});

const hello = encodeHello(limits);
const opening = encodeOpening({ path: '/play.PlayService/Unary', timeoutMs: 0 });

describe.each<readonly [string, string, (frames: FrameBatch) => void]>([
  [
    'an unknown kind',
    'a frame of kind 15 on the stream itself',
    (frames) => {
      frames.add(frameKind.hello, 0, hello);
      frames.add(15, 0);
    },
  ],
  ['a call without a hello', 'the first frame is not a hello', (frames) => frames.add(frameKind.open, 1, opening)],
  [
    'a second hello',
    'a second hello',
    (frames) => {
      frames.add(frameKind.hello, 0, hello);
      frames.add(frameKind.hello, 0, hello);
    },
  ],
  [
    'an id that was used before',
    'an id of a call was used twice',
    (frames) => {
      frames.add(frameKind.hello, 0, hello);
      frames.add(frameKind.open, 2, opening);
      frames.add(frameKind.open, 2, opening);
    },
  ],
  [
    'a message of a call that was never opened',
    'a frame of a call that was never opened',
    (frames) => {
      frames.add(frameKind.hello, 0, hello);
      frames.add(frameKind.message, 9, hello);
    },
  ],
  [
    'more than the window',
    'a call sent beyond its window',
    (frames) => {
      frames.add(frameKind.hello, 0, hello);
      frames.add(frameKind.open, 1, encodeOpening({ path: '/play.PlayService/BidiStream', timeoutMs: 0 }));
      for (let n = 0; n < 12; n++) frames.add(frameKind.message, 1, new Uint8Array(1_000));
      for (let n = 0; n < 1_000; n++) frames.add(frameKind.message | frameFlag.lastPiece, 1, new Uint8Array(100));
    },
  ],
  [
    'a message larger than allowed',
    'a message is longer than 1000000 bytes',
    (frames) => {
      frames.add(frameKind.hello, 0, hello);
      frames.add(frameKind.open, 1, opening);
      for (let n = 0; n < 5; n++) frames.add(frameKind.message, 1, new Uint8Array(250_000));
    },
  ],
])('a client that sends %s', (_, words, write) => {
  it(`is told of ${words}, and loses its stream`, async () => {
    const { heard, ends } = serverThatHears(write);
    await expect.poll(() => ends).toEqual(['server', 'client']);
    expect(heard.at(-1)).toEqual({ kind: frameKind.abort, callId: 0, text: words });
  });
});

it('takes a frame that is cut for what it is', async () => {
  const stream = new MemoryStream({ delay: () => 0 });
  const reasons: string[] = [];
  const session = new ClientSession(
    stream.client,
    { limits, heartbeatMs: 10_000 },
    { onReady: () => undefined, onDraining: () => undefined, onOver: ({ message }) => reasons.push(message) },
  );
  session.onBatch(Buffer.of(frameKind.hello, 0, 0, 0, 0, 0, 0, 0, 9, 1));
  expect(reasons).toEqual(['The other side broke the protocol: a frame is longer than its batch.']);
});

interface Heard {
  readonly kind: number;
  readonly callId: number;
  readonly text: string;
}

/** Sends a server what a client of ours would not, and listens. `ends` tells whose end of the stream is over. */
function serverThatHears(write: (frames: FrameBatch) => void) {
  const stream = new MemoryStream({ delay: () => 0 });
  const heard: Heard[] = [];
  const ends: string[] = [];
  const onFrame = (head: number, callId: number, payload: Buffer) => {
    heard.push({ kind: head & 0x0f, callId, text: payload.toString() });
  };
  const client: BatchListener = {
    onBatch: (frames) => readFrames(frames, { onFrame }),
    onEnd: () => ends.push('client'),
    onBroken: () => undefined,
  };
  const options = { limits, heartbeatMs: 10_000, methods, onOver: () => ends.push('server') };
  stream.connect(client, new ServerSession(stream.server, options));
  const frames = new FrameBatch(0);
  write(frames);
  stream.client.send(frames.toMessage(), () => undefined);
  return { heard, ends };
}
