import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { AdapterService, type ExecuteRequest } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LimiterService, PeekResponseSchema } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { directClient } from './client.ts';
import { GrpcServer } from './grpc/server.ts';
import { type Channel, openChannel } from './multiplex/channel.ts';
import { type CallContext, type Client, type ServiceRoute, serviceRoute } from './service-types.ts';

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

let lastSignal: AbortSignal | undefined;

const limiterRoute = serviceRoute(LimiterService, {
  admit: async ({ key }, context) => {
    lastSignal = context.signal;
    if (key === 'slow') await aborted(context.signal);
    if (key === 'refused') {
      throw new GatewayError('rate_limit_exceeded', 'Too many.', { limit: 'tokens_per_day', retryAfterMs: 1_234 });
    }
    if (key === 'broken') throw new Error('secret text of a fault');
    return { status: { localDay: key } };
  },
  settle: async ({ tokens }) => ({ usedTokens: tokens * 2 }),
  peek: () => create(PeekResponseSchema, {}),
  heartbeat: () => ({}),
  reserve: () => ({}),
  renew: () => ({}),
  admitStream: async function* (requests) {
    for await (const { checks } of requests)
      yield { decisions: checks.map(({ key }) => ({ status: { localDay: key } })) };
  },
});

const adapterRoute = serviceRoute(AdapterService, {
  execute: async function* (_requests: AsyncIterable<ExecuteRequest>, context: CallContext) {
    lastSignal = context.signal;
    for (let n = 0; !context.signal.aborted; n++) {
      yield { body: new Uint8Array([n & 255]) };
      await new Promise((resolve) => setImmediate(resolve));
    }
  },
  countTokens: async (requests) => {
    let size = 0;
    for await (const { body } of requests) size += body.length;
    return { inputTokens: size };
  },
  listModels: async () => ({}),
  probeAccount: async () => ({}),
});

async function* only<T>(...items: T[]) {
  yield* items;
}

interface Clients {
  readonly limiter: Client<typeof LimiterService>;
  readonly adapter: Client<typeof AdapterService>;
}

function behavesAsAClient(clients: () => Clients) {
  it('carries a unary call and completes plain objects to messages', async () => {
    const { limiter } = clients();
    expect((await limiter.admit({ key: 'k' })).status?.localDay).toBe('k');
    expect((await limiter.settle({ tokens: 21 })).usedTokens).toBe(42);
  });

  it('carries a GatewayError whole', async () => {
    await expect(clients().limiter.admit({ key: 'refused' })).rejects.toMatchObject({
      name: 'GatewayError',
      code: 'rate_limit_exceeded',
      limit: 'tokens_per_day',
      retryAfterMs: 1_234,
    });
  });

  it('fails a call whose deadline passes, and aborts the handler', async () => {
    await expect(clients().limiter.admit({ key: 'slow' }, { timeoutMs: 50 })).rejects.toMatchObject({
      status: 'deadline_exceeded',
    });
    await expect.poll(() => lastSignal?.aborted).toBe(true);
  });

  it('fails a call that its caller aborts, and aborts the handler', async () => {
    const controller = new AbortController();
    const call = clients().limiter.admit({ key: 'slow' }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await expect(call).rejects.toMatchObject({ status: 'cancelled' });
    await expect.poll(() => lastSignal?.aborted).toBe(true);
  });

  it('answers batches of a bidirectional stream in order', async () => {
    const keys: (string | undefined)[] = [];
    for await (const { decisions } of clients().limiter.admitStream(
      only({ checks: [{ key: 'a' }, { key: 'b' }] }, { checks: [{ key: 'c' }] }),
    )) {
      keys.push(...decisions.map((decision) => decision.status?.localDay));
    }
    expect(keys).toEqual(['a', 'b', 'c']);
  });

  it('gathers a client stream', async () => {
    const counted = await clients().adapter.countTokens(only({ body: new Uint8Array(3) }, { body: new Uint8Array(4) }));
    expect(counted.inputTokens).toBe(7);
  });

  it('ends a stream at once when it is left while a reader waits', async () => {
    const never = new Promise<{ checks: [] }>(() => undefined);
    const answers = clients()
      .limiter.admitStream(
        (async function* () {
          yield { checks: [] };
          yield await never;
        })(),
      )
      [Symbol.asyncIterator]();
    await answers.next();
    const waiting = answers.next();
    await answers.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await answers.next()).toEqual({ done: true, value: undefined });
  });

  it('cancels the handler when the reader of a stream leaves', async () => {
    for await (const { body } of clients().adapter.execute(only({}))) if (body[0] === 5) break;
    await expect.poll(() => lastSignal?.aborted).toBe(true);
  });
}

describe('a direct client', () => {
  const clients = { limiter: directClient(limiterRoute), adapter: directClient(adapterRoute) };
  behavesAsAClient(() => clients);

  it('passes a fault through for the caller to render', async () => {
    await expect(clients.limiter.admit({ key: 'broken' })).rejects.toThrow('secret text');
  });
});

describe('a client on a shared stream', () => {
  let server: GrpcServer;
  let channel: Channel;
  const faults: { readonly method: string; readonly requestId: string | undefined }[] = [];

  beforeAll(async () => {
    const routes: ServiceRoute[] = [limiterRoute, adapterRoute];
    server = await GrpcServer.listen({
      host: '127.0.0.1',
      port: 0,
      routes,
      onFault: (method, _fault, requestId) => faults.push({ method, requestId }),
    });
    channel = openChannel(`http://127.0.0.1:${server.port}`);
  });

  afterAll(async () => {
    channel[Symbol.dispose]();
    await server.stop(1_000);
  });

  behavesAsAClient(() => ({ limiter: channel.client(LimiterService), adapter: channel.client(AdapterService) }));

  it('hides the text of a fault and reports it on the side of the server', async () => {
    const call = channel.client(LimiterService).admit({ key: 'broken', requestId: 'r-1' });
    await expect(call).rejects.toMatchObject({
      code: 'internal_error',
      message: expect.not.stringContaining('secret'),
    });
    expect(faults).toEqual([{ method: LimiterService.method.admit.toString(), requestId: 'r-1' }]);
  });

  it('says that a service is unavailable when no process listens', async () => {
    using nowhere = openChannel('http://127.0.0.1:9');
    await expect(nowhere.client(LimiterService).peek({}, { timeoutMs: 2_000 })).rejects.toMatchObject({
      status: 'unavailable',
    });
  });
});
