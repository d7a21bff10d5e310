import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import {
  type ClientDuplexStream,
  credentials,
  makeGenericClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { PlayService } from '../multiplex/__fixtures__/play-service.ts';
import { openChannel } from '../multiplex/channel.ts';
import { serviceRoute } from '../service-types.ts';
import { grpcDefinition } from './definition.ts';
import { GrpcServer } from './server.ts';

interface Value {
  readonly value: Uint8Array;
}

let lastSignal: AbortSignal | undefined;
const route = serviceRoute(PlayService, {
  unary: async ({ value }, { signal }) => {
    lastSignal = signal;
    if (String(value) === 'refused') throw new GatewayError('pool_exhausted', 'All busy.', { retryAfterMs: 5_000 });
    if (String(value) === 'broken') throw new Error('secret');
    if (String(value) === 'hold') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { value };
  },
  serverStream: async function* ({ value }) {
    for (let n = 0; n < 3; n++) yield { value };
  },
  clientStream: async () => ({}),
  bidiStream: async function* (requests: AsyncIterable<Value>) {
    for await (const { value } of requests) yield { value };
  },
});

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listen(host = '127.0.0.1', port = 0) {
  const server = await GrpcServer.listen({ host, port, routes: [route] });
  cleanups.push(() => server.stop(0));
  return server;
}

type Done = (error: ServiceError | null, response?: Value) => void;

/** An ordinary gRPC client: grpc-js as its documentation shows it. */
function plainClient(address: string) {
  const Client = makeGenericClientConstructor(grpcDefinition(PlayService), 'PlayService');
  const client = new Client(address, credentials.createInsecure());
  cleanups.push(() => client.close());
  return client as unknown as {
    unary(request: Value, options: { deadline?: number }, done: Done): { cancel(): void };
    bidiStream(): ClientDuplexStream<Value, Value>;
  };
}

const ask = (client: ReturnType<typeof plainClient>, text: string, options: { deadline?: number } = {}) =>
  new Promise<{ readonly text: string } | ServiceError>((resolve) => {
    client.unary({ value: Buffer.from(text) }, options, (error, response) =>
      resolve(error ?? { text: String(response?.value) }),
    );
  });

describe('a gRPC server', () => {
  it('answers plain calls and streams', async () => {
    const { port } = await listen();
    const client = plainClient(`127.0.0.1:${port}`);
    expect(await ask(client, 'hello')).toEqual({ text: 'hello' });
    const echoes = client.bidiStream();
    echoes.write({ value: Buffer.from('one') });
    echoes.end({ value: Buffer.from('two') });
    const texts: string[] = [];
    for await (const { value } of echoes) texts.push(String(value));
    expect(texts).toEqual(['one', 'two']);
  });

  it('puts the whole error into a trailer, and nothing of a fault', async () => {
    const { port } = await listen();
    const client = plainClient(`127.0.0.1:${port}`);
    const refused = (await ask(client, 'refused')) as ServiceError;
    expect(refused).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: 'All busy.' });
    const [detail] = refused.metadata.get('gateway-error-bin');
    expect(fromBinary(ErrorDetailSchema, detail as Buffer)).toMatchObject({ code: 'pool_exhausted' });
    const broken = (await ask(client, 'broken')) as ServiceError;
    expect(broken.code).toBe(status.INTERNAL);
    expect(JSON.stringify(broken)).not.toContain('secret');
  });

  it('aborts the handler when a deadline passes', async () => {
    const { port } = await listen();
    const late = await ask(plainClient(`127.0.0.1:${port}`), 'hold', { deadline: Date.now() + 50 });
    expect(late).toMatchObject({ code: status.DEADLINE_EXCEEDED });
    await expect.poll(() => lastSignal?.aborted).toBe(true);
  });

  it('serves a socket in the file system, for shared streams too', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rpc-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const address = `unix:${join(folder, 'socket')}`;
    expect((await listen(address)).port).toBe(0);
    expect(await ask(plainClient(address), 'hello')).toEqual({ text: 'hello' });
    using channel = openChannel(address);
    expect(String((await channel.client(PlayService).unary({ value: Buffer.from('hi') })).value)).toBe('hi');
  });

  it('says which address it cannot have, and why', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    cleanups.push(() => taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    await expect(listen('127.0.0.1', port)).rejects.toMatchObject({ code: 'EADDRINUSE', address: '127.0.0.1', port });
  });

  it('lets running calls end when it stops, and cuts them after the grace period', async () => {
    const { port } = await listen();
    const server = await listen();
    const client = plainClient(`127.0.0.1:${server.port}`);
    expect(port).not.toBe(server.port);
    const held = ask(client, 'hold');
    await expect.poll(() => lastSignal?.aborted).toBe(false);
    const startedAt = performance.now();
    await server.stop(100);
    expect(performance.now() - startedAt).toBeGreaterThan(90);
    expect(await held).toHaveProperty('code');
  });
});
