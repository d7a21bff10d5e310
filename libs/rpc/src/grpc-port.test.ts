import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { openGrpcChannel } from './grpc-client.ts';
import { GrpcServer } from './grpc-server.ts';
import { PlayService } from './multiplex/__fixtures__/play-service.ts';
import { ownOpening, RawPeer } from './multiplex/http2/__fixtures__/raw-peer.ts';
import { settingsFrame } from './multiplex/http2/frames.ts';
import { clientPreface, frameType, setting } from './multiplex/http2/protocol.ts';
import { openMultiplexedChannel } from './multiplex/multiplexed-channel.ts';
import { serviceRoute } from './service-types.ts';

const route = serviceRoute(PlayService, {
  unary: async ({ value }) => ({ value }),
  serverStream: async function* () {},
  clientStream: async () => ({}),
  bidiStream: async function* () {},
});

let opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.reverse()) await close();
  opened = [];
});

async function listen(host = '127.0.0.1', port = 0): Promise<GrpcServer> {
  const server = await GrpcServer.listen({ host, port, routes: [route] });
  opened.push(() => server.stop(0));
  return server;
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  opened.push(() => {
    socket.destroy();
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const echoed = async (url: string, open: typeof openGrpcChannel) => {
  using channel = open(url);
  return String((await channel.client(PlayService).unary({ value: Buffer.from('echo') })).value);
};

/** Calls a method of gRPC's own services with a message as it is, and gives the first answer. */
function answerTo(port: number, path: string, message: Buffer): Promise<string> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  opened.push(() => client.close());
  const pass = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    const call = client.makeBidiStreamRequest(path, pass, pass);
    call.on('data', (bytes: Buffer) => resolve(bytes.toString('latin1')));
    call.on('error', reject);
    call.write(message);
    call.end();
  });
}

describe('the port of a server', () => {
  it('serves streams of calls, plain gRPC, health and reflection', async () => {
    const server = await listen();
    server.setServing(true);
    const url = `http://127.0.0.1:${server.port}`;
    expect(await echoed(url, openMultiplexedChannel)).toBe('echo');
    expect(await echoed(url, openGrpcChannel)).toBe('echo');
    expect(await answerTo(server.port, '/grpc.health.v1.Health/Check', Buffer.alloc(0))).toBe('\x08\x01');
    const listServices = Buffer.from('3a00', 'hex');
    const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    expect(await answerTo(server.port, path, listServices)).toContain('play.PlayService');
  });

  it('serves both by a socket in the file system, which goes with the server', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'grpc-port-'));
    opened.push(() => rm(folder, { recursive: true }));
    const host = `unix:${join(folder, 'socket')}`;
    const server = await listen(host);
    expect(server.port).toBe(0);
    expect(await echoed(host, openMultiplexedChannel)).toBe('echo');
    await server.stop(1_000);
    await listen(host);
    expect(await echoed(host, openMultiplexedChannel)).toBe('echo');
  });

  it('stands for all addresses of its host', async () => {
    const server = await listen('localhost');
    expect(await echoed(`http://localhost:${server.port}`, openMultiplexedChannel)).toBe('echo');
    expect(await echoed(`http://127.0.0.1:${server.port}`, openGrpcChannel)).toBe('echo');
  });

  it('tells why it cannot be had', async () => {
    const { port } = await listen();
    await expect(listen('127.0.0.1', port)).rejects.toMatchObject({ code: 'EADDRINUSE', address: '127.0.0.1', port });
    await expect(listen('unix:/nowhere/socket')).rejects.toMatchObject({ code: 'EACCES' });
    await expect(listen('no-such-host.invalid')).rejects.toThrow('no-such-host.invalid');
  });

  it('gives a client of gRPC that says its first bytes one by one what it asks for', async () => {
    const server = await listen();
    const peer = await RawPeer.connect(server.port);
    opened.push(() => {
      peer.socket.destroy();
    });
    for (const byte of Buffer.concat([clientPreface, settingsFrame([[setting.initialWindowSize, 100_000]])])) {
      peer.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(() => peer.of(frameType.settings).filter(({ isLast }) => isLast).length).toBe(1);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['half of a preface', clientPreface.subarray(0, 12)],
    ['half of its settings', ownOpening.subarray(0, 35)],
  ])('leaves a client that says %s to gRPC after a second', async (_, bytes) => {
    const server = await listen();
    const peer = await RawPeer.connect(server.port);
    peer.write(bytes);
    // The server of gRPC greets whoever has come.
    await expect.poll(() => peer.of(frameType.settings).length, { timeout: 3_000 }).toBe(1);
    peer.socket.destroy();
  });

  it.each([
    ['HTTP/1.1', Buffer.from('GET / HTTP/1.1\r\nhost: here\r\n\r\n')],
    ['settings that go on for ever', Buffer.concat([clientPreface, settingsFrame(Array(2_000).fill([9, 9]))])],
    ['nonsense', Buffer.alloc(100, 0xff)],
  ])('leaves %s to gRPC, which closes the connection', async (_, bytes) => {
    const server = await listen();
    const socket = await connected(server.port);
    socket.resume().write(bytes);
    if (bytes.length < 10_000) await once(socket, 'close');
    expect(await echoed(`http://127.0.0.1:${server.port}`, openMultiplexedChannel)).toBe('echo');
  });

  it('does not wait for clients that say nothing when it is closed', async () => {
    const server = await listen();
    const [silent, unopened] = [await connected(server.port), await connected(server.port)];
    silent.resume();
    unopened.resume().write(ownOpening.subarray(0, 24 + 9 + 6));
    await once(unopened, 'data');
    const closed = [silent, unopened].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    await server.stop(20_000);
    await Promise.all(closed);
  });
});
