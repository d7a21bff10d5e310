import { once } from 'node:events';
import {
  constants,
  createServer as createHttp2Server,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { roomBeforeBatch } from '../batch-transport.ts';
import { FrameBatch, framesOf } from '../frame-batch.ts';
import { openPath } from '../grpc-streams.ts';
import { RawPeer } from './__fixtures__/raw-peer.ts';
import {
  frame,
  goAwayFrame,
  headersFrame,
  pingFrame,
  resetStreamFrame,
  settingsFrame,
  windowUpdateFrame,
} from './frames.ts';
import { encodeHeaders } from './hpack/header-encoder.ts';
import { MessageReader } from './message-reader.ts';
import { openStream } from './open-stream.ts';
import { clientPreface, errorCode, frameType } from './protocol.ts';

let opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.reverse()) close();
  opened = [];
});

/** What a client hears. */
class Heard {
  readonly batches: Buffer[] = [];
  readonly words: string[] = [];
  cause: unknown;

  onBatch(frames: Buffer): void {
    this.batches.push(frames);
    this.words.push('batch');
  }

  onEnd(): void {
    this.words.push('end');
  }

  onBroken(cause: unknown): void {
    this.cause = cause;
    this.words.push('broken');
  }
}

function open(port: number) {
  const heard = new Heard();
  let transport: Parameters<Parameters<typeof openStream>[1]>[0] | undefined;
  openStream(`127.0.0.1:${port}`, (end) => {
    transport = end;
    return heard;
  });
  if (transport === undefined) throw new Error('nobody was asked to listen');
  const end = transport;
  opened.push(() => end.destroy());
  return { heard, transport: end };
}

async function portOf(server: Server | Http2Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push(() => server.close());
  const address: AddressInfo | string | null = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A message of gRPC with a batch of one frame. */
function batchOf(size: number): Buffer {
  const batch = new FrameBatch(0);
  batch.add(1, 0, Buffer.alloc(size, 'b'));
  const { bytes, start } = batch.toMessage();
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length - start, 1);
  return Buffer.concat([prefix, bytes.subarray(start)]);
}

describe("a client of a server of Node's", () => {
  async function nodeServer(options: Parameters<typeof createHttp2Server>[0]) {
    const server = createHttp2Server(options);
    const streams: ServerHttp2Stream[] = [];
    const sessions: ServerHttp2Session[] = [];
    server.on('session', (session) => sessions.push(session));
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.on('error', () => undefined);
      streams.push(stream);
    });
    const port = await portOf(server);
    opened.push(() => {
      for (const session of sessions) session.destroy();
    });
    const client = open(port);
    await expect.poll(() => streams.length).toBe(1);
    const [stream, session] = [streams[0], sessions[0]];
    if (stream === undefined || session === undefined) throw new Error('no stream was opened');
    return { ...client, stream, session };
  }

  it('asks as a client of gRPC does', async () => {
    const server = createHttp2Server();
    const asked = once(server, 'stream');
    open(await portOf(server));
    const [stream, headers] = await asked;
    expect(headers).toMatchObject({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': openPath,
      ':authority': expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.session.destroy();
  });

  it('sends large messages within windows that are tiny and change', async () => {
    const { stream, session, transport } = await nodeServer({ settings: { initialWindowSize: 10 } });
    const received: number[] = [];
    const reader = new MessageReader(2 ** 20, (message) => {
      expect(new Set(message)).toEqual(new Set([7]));
      received.push(message.length);
    });
    stream.on('data', (bytes: Buffer) => reader.read(bytes));
    const sizes = [1, 200, 70_000, 400_000];
    let sent = 0;
    for (const size of sizes) {
      transport.send({ bytes: Buffer.alloc(roomBeforeBatch + size, 7), start: roomBeforeBatch }, () => sent++);
    }
    await expect.poll(() => received.length).toBe(2);
    session.settings({ initialWindowSize: 20_000 });
    await expect.poll(() => received.length).toBeGreaterThan(2);
    session.settings({ initialWindowSize: 500 });
    await expect.poll(() => received).toEqual(sizes);
    expect(sent).toBe(sizes.length);
  });

  it('reads messages that come padded, in many frames, and with compressed headers', async () => {
    const { stream, heard, transport } = await nodeServer({ paddingStrategy: constants.PADDING_STRATEGY_MAX });
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc+proto', 'x-note': 'n'.repeat(3_000) },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'well' }));
    const messages = [10, 40_000, 300_000, 0].map(batchOf);
    for (const byte of messages[0] ?? []) stream.write(Buffer.of(byte));
    for (const message of messages.slice(1)) stream.write(message);
    stream.end();
    await expect.poll(() => heard.words.slice(0, 5)).toEqual(['batch', 'batch', 'batch', 'batch', 'end']);
    expect(heard.batches.map((frames) => frames.length)).toEqual(
      messages.map((message) => framesOf(message.subarray(5))?.length),
    );
    transport.end();
  });

  it('goes on with its stream when the server says that it goes away', async () => {
    const { stream, session, heard } = await nodeServer({});
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    session.goaway(errorCode.noError, 1);
    stream.write(batchOf(10));
    await expect.poll(() => heard.words).toEqual(['batch']);
    session.destroy();
    await expect.poll(() => heard.words).toEqual(['batch', 'broken']);
  });
});

describe('a client of a server that misbehaves', () => {
  async function rawServer() {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      sockets.push(socket);
    });
    const port = await portOf(server);
    opened.push(() => {
      for (const socket of sockets) socket.destroy();
    });
    const client = open(port);
    await expect.poll(() => sockets.length).toBe(1);
    const [socket] = sockets;
    if (socket === undefined) throw new Error('nobody came');
    return { ...client, socket };
  }

  const greeting = settingsFrame([]);
  const answer = headersFrame(
    1,
    encodeHeaders(listOf({ ':status': '200', 'content-type': 'application/grpc' })),
    false,
  );
  const ending = (fields: Readonly<Record<string, string>>) => headersFrame(1, encodeHeaders(listOf(fields)), true);
  const data = (payload: Buffer) => frame(frameType.data, 0, 1, payload);

  it.each([
    [
      'knows no such method',
      [ending({ ':status': '200', 'grpc-status': '12', 'grpc-message': 'no%20such' })],
      12,
      'no such',
    ],
    ['fails', [answer, ending({ 'grpc-status': '13', 'grpc-message': '100%' })], 13, '100%'],
    ['tells no status', [answer, ending({})], 2, 'not one of gRPC'],
    ['tells an odd status', [answer, ending({ 'grpc-status': 'odd' })], 2, 'odd'],
    ['is a proxy without a server', [ending({ ':status': '503' })], 14, '503'],
    [
      'is a site',
      [headersFrame(1, encodeHeaders(listOf({ ':status': '404', 'content-type': 'text/html' })), false)],
      12,
      '404',
    ],
    ['gives the stream up', [answer, resetStreamFrame(1, errorCode.refusedStream)], undefined, 'code 7'],
    ['speaks another protocol', [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')], errorCode.frameSizeError, 'size'],
    ['does not greet', [pingFrame], errorCode.protocolError, 'settings'],
    ['sends data first', [data(Buffer.alloc(5))], errorCode.protocolError, 'headers'],
    ['answers twice', [answer, answer], errorCode.protocolError, 'headers'],
    ['opens a stream', [headersFrame(2, encodeHeaders([]), false)], errorCode.protocolError, 'never opened'],
    ['pushes', [frame(frameType.pushPromise, 4, 1, Buffer.alloc(4))], errorCode.protocolError, 'pushed'],
    [
      'ends within a message',
      [answer, data(Buffer.alloc(3)), ending({ 'grpc-status': '0' })],
      errorCode.protocolError,
      'cut off',
    ],
    [
      'sends something else than frames',
      [answer, data(Buffer.from('0000000001ff', 'hex'))],
      errorCode.protocolError,
      'frames',
    ],
  ])('is told so when it %s', async (_, frames, code, words) => {
    const { heard, socket } = await rawServer();
    socket.write(Buffer.concat(words === 'settings' || words === 'size' ? frames : [greeting, ...frames]));
    await expect.poll(() => heard.words).toEqual(['broken']);
    expect(heard.cause).toMatchObject({ message: expect.stringContaining(words) });
    expect(heard.cause instanceof Error && 'code' in heard.cause ? heard.cause.code : undefined).toBe(code);
  });

  it('waits for the answer behind what is only provisional', async () => {
    const { heard, socket } = await rawServer();
    const provisional = headersFrame(1, encodeHeaders(listOf({ ':status': '103' })), false);
    socket.write(Buffer.concat([greeting, provisional, answer, data(batchOf(1))]));
    await expect.poll(() => heard.words).toEqual(['batch']);
  });

  it('tells why the connection was closed, if the server said so', async () => {
    const { heard, socket } = await rawServer();
    socket.end(Buffer.concat([greeting, answer, goAwayFrame(1, errorCode.enhanceYourCalm, 'too much')]));
    await expect.poll(() => heard.words).toEqual(['broken']);
    expect(heard.cause).toMatchObject({ message: 'The other side closed the connection with code 11: too much' });
  });

  it('says why it closes the connection itself', async () => {
    const { socket } = await rawServer();
    const peer = new RawPeer(socket, clientPreface.length);
    socket.write(Buffer.concat([greeting, frame(frameType.ping, 0, 0, Buffer.alloc(3))]));
    expect(await peer.goAwayCode()).toBe(errorCode.frameSizeError);
    expect(String(peer.of(frameType.goAway)[0]?.payload)).toContain('a frame has not the size that it must have');
  });

  it('gives up a server that says nothing more, though the connection stands', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const { heard, socket } = await rawServer();
      socket.write(Buffer.concat([greeting, answer, data(batchOf(1))]));
      await expect.poll(() => heard.words).toEqual(['batch']);
      vi.advanceTimersByTime(15_000);
      expect(heard.words).toEqual(['batch', 'broken']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('breaks when nobody listens', async () => {
    const server = createServer();
    const port = await portOf(server);
    server.close();
    const { heard } = open(port);
    await expect.poll(() => heard.words).toEqual(['broken']);
    expect(heard.cause).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('sends nothing more of what waited when the stream was given up', async () => {
    const { heard, socket, transport } = await rawServer();
    const peer = new RawPeer(socket, clientPreface.length);
    for (const size of [60_000, 60_000]) {
      transport.send({ bytes: Buffer.alloc(roomBeforeBatch + size), start: roomBeforeBatch }, () => undefined);
    }
    const received = () => peer.of(frameType.data).reduce((sum, { payload }) => sum + payload.length, 0);
    await expect.poll(received).toBe(65_535);
    const more = [windowUpdateFrame(0, 100_000), windowUpdateFrame(1, 100_000)];
    socket.write(Buffer.concat([greeting, answer, resetStreamFrame(1, errorCode.cancel), ...more]));
    expect(await peer.goAwayCode()).toBe(errorCode.noError);
    expect([received(), heard.words]).toEqual([65_535, ['broken']]);
  });

  it('tells nothing of a connection that it has ended itself', async () => {
    const { heard, socket, transport } = await rawServer();
    socket.resume();
    transport.destroy();
    socket.write(Buffer.concat([greeting, answer, data(batchOf(1))]));
    await once(socket, 'close');
    expect(heard.words).toEqual([]);
  });
});

function listOf(fields: Readonly<Record<string, string>>) {
  return Object.entries(fields).map(([name, value]) => ({ name, value }));
}
