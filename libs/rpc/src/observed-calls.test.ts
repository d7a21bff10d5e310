import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { activeSpan, inSpan, type Logger, Metrics, type Span, SpanKind, startTracing } from '@gateway/telemetry';
import { OtlpReceiver } from '@gateway/telemetry/testing';
import { credentials, Client as GrpcClient, Metadata } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { directClient } from './client.ts';
import { grpcMethod } from './grpc/definition.ts';
import { GrpcServer } from './grpc/server.ts';
import { openChannel } from './multiplex/channel.ts';
import { serviceRoute } from './service-types.ts';

const limiterRoute = serviceRoute(LimiterService, {
  admit: async ({ key }, { signal }) => {
    if (key === 'refused') throw new GatewayError('rate_limit_exceeded', 'Too many.');
    if (key === 'broken') throw new Error('a fault');
    if (key === 'slow') await once(signal, 'abort');
    return inSpan('admit', {}, async () => ({}));
  },
  settle: () => ({}),
  peek: () => ({}),
  heartbeat: () => ({}),
  reserve: () => ({}),
  renew: () => ({}),
  admitStream: async function* (requests) {
    for await (const _ of requests) yield inSpan('decide', {}, async () => ({}));
  },
});

const adapterRoute = serviceRoute(AdapterService, {
  execute: async function* (requests) {
    for await (const { body } of requests) {
      yield { body };
      await sleep(1);
      await inSpan('attempt', {}, async () => undefined);
    }
  },
  countTokens: async (requests) => {
    for await (const _ of requests);
    return {};
  },
  listModels: () => ({}),
  probeAccount: () => ({}),
});

let stack: AsyncDisposableStack;
let metrics: { readonly client: Metrics; readonly server: Metrics };
let port: number;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  metrics = { client: new Metrics(), server: new Metrics() };
  const routes = [limiterRoute, adapterRoute];
  const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes, metrics: metrics.server });
  stack.defer(() => server.stop(0));
  ({ port } = server);
});
afterEach(async () => {
  await stack.disposeAsync();
  vi.unstubAllEnvs();
});

function clients() {
  const channel = stack.use(openChannel(`http://127.0.0.1:${port}`, { metrics: metrics.client }));
  return { limiter: channel.client(LimiterService), adapter: channel.client(AdapterService) };
}

/** How many calls ended with this code, as counted on one side. */
async function counted(side: 'client' | 'server', method: string, code: string) {
  const text = await metrics[side].exposition();
  const error = code === 'OK' ? '' : code;
  const labels = `rpc_system_name="grpc",rpc_method="gateway.${method}",rpc_response_status_code="${code}",error_type="${error}"`;
  return text.match(new RegExp(`^rpc_${side}_call_duration_seconds_count{${labels}} (\\d+)$`, 'm'))?.[1];
}

const admit = 'limiter.v2.LimiterService/Admit';
const execute = 'adapter.v1.AdapterService/Execute';

async function* only<T>(...items: readonly T[]) {
  yield* items;
}

async function* withoutEnd() {
  for (;;) {
    yield { body: new Uint8Array(1) };
    await sleep(1);
  }
}

async function all<T>(items: AsyncIterable<T>) {
  return Array.fromAsync(items);
}

describe('calls on a shared stream', () => {
  it.each([
    ['k', 'OK'],
    ['refused', 'RESOURCE_EXHAUSTED'],
    ['broken', 'INTERNAL'],
  ])('are counted on both sides: %s as %s', async (key, code) => {
    const { limiter } = clients();
    await Promise.allSettled([limiter.admit({ key }), limiter.admit({ key })]);
    expect(await counted('client', admit, code)).toBe('2');
    expect(await counted('server', admit, code)).toBe('2');
  });

  it('are counted as late by their deadline, and as left by a caller that leaves them', async () => {
    const { limiter, adapter } = clients();
    await expect(limiter.admit({ key: 'slow' }, { timeoutMs: 50 })).rejects.toThrow();
    expect(await counted('client', admit, 'DEADLINE_EXCEEDED')).toBe('1');
    for await (const _ of adapter.execute(withoutEnd())) break;
    expect(await counted('client', execute, 'CANCELLED')).toBe('1');
    await expect.poll(() => counted('server', execute, 'CANCELLED')).toBe('1');
  });

  it('are counted by what the server said, when it had ended a call that was left', async () => {
    const { adapter } = clients();
    const body = new Uint8Array(1);
    for await (const _ of adapter.execute(only({ body }))) {
      await expect.poll(() => counted('server', execute, 'OK')).toBe('1');
      await expect.poll(() => counted('client', execute, 'OK')).toBe('1');
      break;
    }
    expect(await counted('client', execute, 'CANCELLED')).toBeUndefined();
  });

  it('with many messages are counted once, when they end', async () => {
    const { adapter } = clients();
    await all(adapter.execute(only({ body: new Uint8Array(1) }, { body: new Uint8Array(1) })));
    await adapter.countTokens(only({}, {}));
    expect(await counted('client', execute, 'OK')).toBe('1');
    expect(await counted('server', execute, 'OK')).toBe('1');
    expect(await counted('client', 'adapter.v1.AdapterService/CountTokens', 'OK')).toBe('1');
  });

  it('are in flight until they end', async () => {
    const { limiter } = clients();
    const call = limiter.admit({ key: 'slow' }, { timeoutMs: 300 });
    const inFlight = async () => {
      const text = await metrics.server.exposition();
      return text.match(
        /^gateway_rpc_server_calls_in_flight\{rpc_method="gateway.limiter.v2.LimiterService\/Admit"\} (\d)$/m,
      )?.[1];
    };
    await expect.poll(inFlight).toBe('1');
    await expect(call).rejects.toThrow();
    await expect.poll(inFlight).toBe('0');
  });

  it('are counted where no replica can be reached', async () => {
    const channel = stack.use(openChannel('http://127.0.0.1:1', { metrics: metrics.client }));
    await expect(channel.client(LimiterService).admit({})).rejects.toThrow(
      "The service at 127.0.0.1:1 can't be reached.",
    );
    expect(await counted('client', admit, 'UNAVAILABLE')).toBe('1');
  });
});

describe('calls with a stream of their own', () => {
  it('are counted by the server', async () => {
    await plainAdmit('k');
    await expect(plainAdmit('refused')).rejects.toThrow();
    expect(await counted('server', admit, 'OK')).toBe('1');
    expect(await counted('server', admit, 'RESOURCE_EXHAUSTED')).toBe('1');
  });

  it('to methods that are not served make no series', async () => {
    await expect(plainAdmit('k', new Metadata(), '/made.up.Service/Name')).rejects.toThrow('not implement');
    expect(await metrics.server.exposition()).not.toContain('made.up');
  });
});

function plainAdmit(key: string, metadata = new Metadata(), path?: string): Promise<unknown> {
  const client = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
  stack.defer(() => client.close());
  const { requestSerialize, responseDeserialize, ...method } = grpcMethod(LimiterService.method.admit);
  return new Promise((resolve, reject) =>
    client.makeUnaryRequest(
      path ?? method.path,
      requestSerialize,
      responseDeserialize,
      { key },
      metadata,
      (error, answer) => (error === null ? resolve(answer) : reject(error)),
    ),
  );
}

describe('the trace of a call', () => {
  const request = { kind: SpanKind.SERVER };

  /** The spans that `work` creates within a request, as a tree. */
  async function treeOf(work: (span: Span) => Promise<unknown>) {
    const receiver = stack.use(await OtlpReceiver.listen());
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
    const logger = { warn: () => undefined } as unknown as Logger;
    const tracing = await startTracing({ service: 'test', logger, metrics: new Metrics() });
    await inSpan('request', request, work);
    // The server notices the end later than its client.
    await sleep(50);
    await tracing?.[Symbol.asyncDispose]();
    const { spans } = receiver;
    const nameOf = (id: string | undefined) => spans.find(({ spanId }) => spanId === id);
    const textOf = ({ name, kind }: { readonly name: string; readonly kind: string }) =>
      `${kind} ${name.split('/').at(-1)}`;
    const tree = spans.map((span) => {
      const parent = nameOf(span.parentSpanId);
      return parent === undefined ? textOf(span) : `${textOf(parent)} > ${textOf(span)}`;
    });
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    return { tree: tree.sort(), spans };
  }

  it('goes on at the server, on both sides a span', async () => {
    const { limiter } = clients();
    const { tree, spans } = await treeOf(() => limiter.admit({ key: 'k' }));
    expect(tree).toEqual([
      'client Admit > server Admit',
      'server Admit > internal admit',
      'server request',
      'server request > client Admit',
    ]);
    expect(spans.find(({ kind }) => kind === 'client')).toMatchObject({
      name: `gateway.${admit}`,
      attributes: {
        'rpc.system.name': 'grpc',
        'rpc.method': `gateway.${admit}`,
        'rpc.response.status_code': 'OK',
      },
    });
  });

  it('says what a call failed with: a refusal is no failure of the server', async () => {
    const { limiter } = clients();
    const { spans } = await treeOf(() =>
      Promise.allSettled([limiter.admit({ key: 'refused' }), limiter.admit({ key: 'broken' })]),
    );
    const errors = (side: string) =>
      spans.filter(({ kind, name }) => kind === side && name !== 'request').map(({ error }) => error);
    expect(errors('client').sort()).toEqual(['INTERNAL', 'RESOURCE_EXHAUSTED']);
    expect(errors('server')).toEqual(expect.arrayContaining(['INTERNAL', undefined]));
  });

  it('goes on in all that a streaming handler does, until the stream ends', async () => {
    const { adapter } = clients();
    const body = new Uint8Array(1);
    const { tree } = await treeOf(() => all(adapter.execute(only({ body }, { body }))));
    expect(tree).toEqual([
      'client Execute > server Execute',
      'server Execute > internal attempt',
      'server Execute > internal attempt',
      'server request',
      'server request > client Execute',
    ]);
  });

  it('ends with a stream that is left', async () => {
    const { adapter } = clients();
    const { spans } = await treeOf(async () => {
      for await (const _ of adapter.execute(withoutEnd())) break;
    });
    const codes = spans
      .filter(({ name }) => name.endsWith('Execute'))
      .map((span) => span.attributes['rpc.response.status_code']);
    expect(codes).toEqual(['CANCELLED', 'CANCELLED']);
  });

  it('comes in with the metadata of a call of its own', async () => {
    const { tree } = await treeOf(async (span) => {
      const { traceId, spanId } = span.spanContext();
      const metadata = new Metadata();
      metadata.set('traceparent', `00-${traceId}-${spanId}-01`);
      await plainAdmit('k', metadata);
    });
    expect(tree).toEqual(['server Admit > internal admit', 'server request', 'server request > server Admit']);
  });

  it('goes through a direct call as through any function', async () => {
    const { tree } = await treeOf(() => directClient(limiterRoute).admit({ key: 'k' }));
    expect(tree).toEqual(['server request', 'server request > internal admit']);
  });

  it('is not begun by a call, and a stream of decisions is no part of one', async () => {
    const { limiter } = clients();
    await limiter.admit({ key: 'k' });
    const { tree } = await treeOf(() => all(limiter.admitStream(only({}, {}))));
    expect(tree).toEqual(['server request']);
  });

  it('is left by what goes on after the call that happened to open the channel', async () => {
    const seen: unknown[] = [];
    await treeOf(async () => {
      const onUnreachable = () => void seen.push(activeSpan());
      const channel = stack.use(openChannel('http://127.0.0.1:1', { onUnreachable }));
      await expect(channel.client(LimiterService).admit({})).rejects.toThrow();
    });
    expect(seen).toEqual([undefined]);
  });
});
