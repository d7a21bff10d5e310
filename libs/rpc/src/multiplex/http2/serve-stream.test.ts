import { once } from 'node:events';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { GrpcServer } from '../../grpc-server.ts';
import { serviceRoute } from '../../service-types.ts';
import { PlayService } from '../__fixtures__/play-service.ts';
import { FrameBatch } from '../frame-batch.ts';
import { frameKind } from '../frames.ts';
import { defaultLimits } from '../limits.ts';
import { openMultiplexedChannel } from '../multiplexed-channel.ts';
import { encodeHello } from '../payloads.ts';
import { ownOpening, ownPreface, RawPeer, requestBlock } from './__fixtures__/raw-peer.ts';
import {
  endOfDataFrame,
  frame,
  headersFrame,
  pingFrame,
  resetStreamFrame,
  settingsFrame,
  windowUpdateFrame,
} from './frames.ts';
import { HeaderDecoder } from './hpack/header-decoder.ts';
import { messagePrefixBytes } from './message-reader.ts';
import { errorCode, frameFlag, frameType, largestWindowBytes, setting } from './protocol.ts';

const route = serviceRoute(PlayService, {
  unary: async ({ value }) => ({ value }),
  serverStream: async function* () {},
  clientStream: async () => ({}),
  bidiStream: async function* () {},
});

let server: GrpcServer;
beforeAll(async () => {
  server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes: [route] });
});
afterAll(() => server.stop(0));

const connect = () => RawPeer.connect(server.port);

/** A server has greeted when its first message has come, within which is its hello. */
const hasGreeted = (peer: RawPeer) => expect.poll(() => peer.of(frameType.data, 1).length).toBeGreaterThan(0);

async function greeted(...opening: readonly Buffer[]): Promise<RawPeer> {
  const peer = await connect();
  peer.write(...opening);
  await hasGreeted(peer);
  return peer;
}

const headersOf = (peer: RawPeer) =>
  peer
    .of(frameType.headers)
    .map(({ payload, isLast }) => ({ ...Object.fromEntries(new HeaderDecoder().decode(payload)), isLast }));

const data = (payload: Buffer, flags = 0, streamId = 1) => frame(frameType.data, flags, streamId, payload);
const nothing = Buffer.alloc(0);

/** A message of gRPC with frames of which nothing comes. */
function largeMessage(isFirst: boolean): Buffer {
  const batch = new FrameBatch(0);
  if (isFirst) batch.add(frameKind.hello, 0, encodeHello(defaultLimits));
  batch.add(frameKind.pong, 0, Buffer.alloc(1_000_000));
  const { bytes, start } = batch.toMessage();
  const prefix = Buffer.alloc(messagePrefixBytes);
  prefix.writeUInt32BE(bytes.length - start, 1);
  return Buffer.concat([prefix, bytes.subarray(start)]);
}

const endlessBlock = [
  frame(frameType.headers, 0, 3, nothing),
  ...Array(20).fill(frame(frameType.continuation, 0, 3, Buffer.alloc(1_000))),
];

describe('a connection that a client of ours opens', () => {
  it('takes one stream, and answers as gRPC does', async () => {
    const peer = await greeted(ownOpening);
    const [settings] = peer.of(frameType.settings);
    expect(settings?.payload.readUInt16BE(0)).toBe(setting.maxConcurrentStreams);
    peer.write(endOfDataFrame(1));
    expect(await peer.goAwayCode()).toBe(errorCode.noError);
    expect(headersOf(peer)).toEqual([
      { ':status': '200', 'content-type': 'application/grpc', isLast: false },
      { 'grpc-status': '0', isLast: true },
    ]);
  });

  it('is served however its first bytes are split', async () => {
    const peer = await connect();
    for (const byte of ownOpening) {
      peer.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await hasGreeted(peer);
    peer.socket.destroy();
  });

  it('may be padded, continued, prioritized and extended', async () => {
    const block = requestBlock();
    const [first, second] = [block.subarray(0, 10), block.subarray(10)];
    const padded = Buffer.concat([Buffer.of(3), Buffer.alloc(5), first, Buffer.alloc(3)]);
    const peer = await greeted(
      ownPreface,
      frame(0xf3, 0xff, 7, Buffer.from('unknown')),
      frame(frameType.priority, 0, 9, Buffer.alloc(5)),
      frame(frameType.headers, frameFlag.padded | frameFlag.priority, 1, padded),
      frame(frameType.continuation, 0, 1, nothing),
      frame(frameType.continuation, frameFlag.endHeaders, 1, second),
      data(Buffer.of(2, 0, 0), frameFlag.padded),
    );
    peer.write(pingFrame);
    await expect.poll(() => peer.of(frameType.ping)).toMatchObject([{ isLast: true }]);
    peer.socket.destroy();
  });

  it('refuses another stream as one of which nothing was done, and goes on', async () => {
    const peer = await greeted(ownOpening);
    peer.write(headersFrame(3, requestBlock(), false), data(Buffer.from('lost'), 0, 3), windowUpdateFrame(3, 1));
    peer.write(resetStreamFrame(3, errorCode.cancel), pingFrame);
    await expect.poll(() => peer.of(frameType.ping).length).toBe(1);
    expect(peer.of(frameType.resetStream)).toMatchObject([{ streamId: 3, payload: Buffer.of(0, 0, 0, 7) }]);
    peer.socket.destroy();
  });

  it('tells that it carries nothing but streams of calls', async () => {
    const peer = await connect();
    peer.write(ownPreface, headersFrame(1, requestBlock('/play.PlayService/Unary'), true));
    expect(await peer.goAwayCode()).toBe(errorCode.noError);
    expect(headersOf(peer)).toMatchObject([{ ':status': '200', 'grpc-status': '12', isLast: true }]);
  });

  it('sends nothing beyond the windows', async () => {
    const peer = await connect();
    const closed = settingsFrame([
      [setting.onlyStreamOfCalls, 1],
      [setting.initialWindowSize, 0],
    ]);
    peer.write(ownOpening.subarray(0, 24), closed, headersFrame(1, requestBlock(), false));
    await expect.poll(() => peer.of(frameType.headers).length).toBe(1);
    peer.write(pingFrame);
    await expect.poll(() => peer.of(frameType.ping).length).toBe(1);
    expect(peer.of(frameType.data)).toEqual([]);
    peer.write(windowUpdateFrame(1, 3));
    await expect.poll(() => peer.of(frameType.data).map(({ payload }) => payload.length)).toEqual([3]);
    peer.write(settingsFrame([[setting.initialWindowSize, 1]]));
    await expect.poll(() => peer.of(frameType.data).map(({ payload }) => payload.length)).toEqual([3, 1]);
    peer.write(settingsFrame([[setting.initialWindowSize, 60_000]]));
    await expect.poll(() => Buffer.concat(peer.of(frameType.data).map(({ payload }) => payload)).length).toBe(25);
    peer.socket.destroy();
  });

  it('gives back the windows in large steps', async () => {
    const peer = await greeted(ownOpening);
    for (let index = 0; index < 9; index++) peer.write(data(largeMessage(index === 0)));
    const updates = () =>
      peer.of(frameType.windowUpdate).map(({ streamId, payload }) => [streamId, payload.readUInt32BE(0)]);
    await expect.poll(() => updates().length).toBe(3);
    const given = updates()[1]?.[1] ?? 0;
    expect(given).toBeGreaterThanOrEqual(8 * 1024 * 1024);
    expect(updates().slice(1)).toEqual([
      [0, given],
      [1, given],
    ]);
    peer.socket.destroy();
  });

  it('ends when no stream is opened on it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const peer = await connect();
      peer.write(ownPreface);
      await once(peer.socket, 'data');
      vi.advanceTimersByTime(5_000);
      await once(peer.socket, 'close');
      expect(peer.of(frameType.goAway).map(({ payload }) => payload.subarray(8).toString())).toEqual([
        'no stream was opened',
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([
    ['a ping has the wrong size', [frame(frameType.ping, 0, 0, Buffer.alloc(7))], errorCode.frameSizeError],
    ['a ping is on a stream', [frame(frameType.ping, 0, 1, Buffer.alloc(8))], errorCode.protocolError],
    ['settings end within one', [frame(frameType.settings, 0, 0, Buffer.alloc(7))], errorCode.frameSizeError],
    ['an acknowledgement has a content', [frame(frameType.settings, 1, 0, Buffer.alloc(6))], errorCode.frameSizeError],
    ['a window is set too large', [settingsFrame([[setting.initialWindowSize, 2 ** 31]])], errorCode.flowControlError],
    ['frames are set too small', [settingsFrame([[setting.maxFrameSize, 16_383]])], errorCode.protocolError],
    ['frames are set too large', [settingsFrame([[setting.maxFrameSize, 2 ** 24]])], errorCode.protocolError],
    ['a window is opened by nothing', [windowUpdateFrame(1, 0)], errorCode.protocolError],
    ['a window is opened too far', [windowUpdateFrame(1, largestWindowBytes)], errorCode.flowControlError],
    ['a window has the wrong size', [frame(frameType.windowUpdate, 0, 1, Buffer.alloc(3))], errorCode.frameSizeError],
    ['a reset has the wrong size', [frame(frameType.resetStream, 0, 1, Buffer.alloc(5))], errorCode.frameSizeError],
    ['a stream is reset that was never opened', [resetStreamFrame(5, errorCode.cancel)], errorCode.protocolError],
    ['data is on a stream that was never opened', [data(nothing, 0, 5)], errorCode.protocolError],
    ['data is on no stream', [data(nothing, 0, 0)], errorCode.protocolError],
    ['a stream of the server is opened', [headersFrame(2, requestBlock(), false)], errorCode.protocolError],
    ['something is pushed', [frame(frameType.pushPromise, 4, 1, Buffer.alloc(4))], errorCode.protocolError],
    [
      'a block is continued that did not begin',
      [frame(frameType.continuation, 4, 1, nothing)],
      errorCode.protocolError,
    ],
    ['a block is not continued', [frame(frameType.headers, 0, 3, nothing), pingFrame], errorCode.protocolError],
    ['a block has no end', endlessBlock, errorCode.enhanceYourCalm],
    ['a block is no block', [headersFrame(3, Buffer.from('ff', 'hex'), false)], errorCode.compressionError],
    ['headers follow headers', [headersFrame(1, requestBlock(), false)], errorCode.protocolError],
    ['a frame is too long', [data(Buffer.alloc(1024 * 1024 + 1))], errorCode.frameSizeError],
    ['a message is too long', [data(Buffer.from('0000800001', 'hex'))], errorCode.enhanceYourCalm],
    ['a message is compressed', [data(Buffer.from('0100000000', 'hex'))], errorCode.protocolError],
    ['a message is cut off', [data(Buffer.from('0000000001', 'hex'), frameFlag.endStream)], errorCode.protocolError],
    ['a message holds no frames', [data(Buffer.from('0000000001ff', 'hex'))], errorCode.protocolError],
    ['a going away has the wrong size', [frame(frameType.goAway, 0, 0, Buffer.alloc(7))], errorCode.frameSizeError],
  ])('ends when %s', async (_, frames, code) => {
    const peer = await greeted(ownOpening);
    peer.write(...frames);
    expect(await peer.goAwayCode()).toBe(code);
  });

  it('ends when answers are asked for and not read', async () => {
    const peer = await greeted(ownOpening);
    peer.socket.pause();
    const pings = Buffer.concat(Array(50_000).fill(pingFrame));
    const failed = new Promise((resolve) => peer.socket.once('close', resolve));
    let asked = 0;
    const asking = setInterval(() => {
      peer.write(pings);
      asked += 50_000;
    }, 10);
    // Whoever does not read hears only by its own writing that the other side is gone.
    const reading = setTimeout(() => peer.socket.resume(), 2_000);
    await failed;
    clearInterval(asking);
    clearTimeout(reading);
    expect(peer.of(frameType.ping).length).toBeLessThan(asked);
  });

  it('leaves the others alone, whatever comes over it', async () => {
    using channel = openMultiplexedChannel(`http://127.0.0.1:${server.port}`);
    const client = channel.client(PlayService);
    const anyFrame = fc
      .record({
        type: fc.nat(10),
        flags: fc.nat(255),
        streamId: fc.nat(4),
        payload: fc.uint8Array({ maxLength: 40 }),
      })
      .map(({ type, flags, streamId, payload }) => frame(type, flags, streamId, Buffer.from(payload)));
    const anyBytes = fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(ownOpening, ownPreface, ownPreface.subarray(0, 30), nothing),
        fc.array(fc.oneof(anyFrame, anyBytes), { maxLength: 10 }),
        async (opening, pieces) => {
          const peer = await connect();
          peer.write(opening, ...pieces);
          peer.socket.end();
          await expect.poll(() => peer.isClosed, { timeout: 5_000, interval: 2 }).toBe(true);
          expect((await client.unary({ value: Buffer.from('well') })).value.length).toBe(4);
        },
      ),
      { numRuns: 150 },
    );
  });
});
