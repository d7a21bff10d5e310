import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { roomMs } from '@gateway/testkit/room';
import { loadPackageDefinition, makeGenericClientConstructor, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { describe, expect, it } from 'vitest';
import { grpcCredentials } from '../topologies/certificates.ts';

const protoFolder = fileURLToPath(new URL('../../proto', import.meta.url));

interface LimitStatus {
  readonly requests: {
    readonly limit: number;
    readonly remaining: number;
    readonly nextSlotAtMs: number;
    readonly resetsAtMs: number;
  } | null;
  readonly tokens: { readonly limit: number; readonly remaining: number; readonly resetsAtMs: number } | null;
  readonly localDay: string;
}

interface AdmitResponse {
  readonly status: LimitStatus;
  readonly refusal: { readonly limit: string; readonly retryAtMs: number } | null;
}

/** The limiter as another team uses it: grpc-js and the proto files, none of our code. */
export function limiterOverGrpcBehaviour(address: () => string): void {
  describe('the limiter, called by a client that knows only its proto', () => {
    const limits = { requestsPerMinute: 2, tokensPerDay: 100 };

    it('admits up to the limit, repeats an answer for a repeated id, and refuses the next', async () => {
      using client = openClient(address());
      const key = `e2e:${randomUUID()}`;
      const admit = (requestId: string) => client.call<AdmitResponse>('admit', { key, requestId, limits });
      expect((await admit('one')).status).toMatchObject({
        requests: { limit: 2, remaining: 1 },
        tokens: { limit: 100, remaining: 100 },
        localDay: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      });
      expect((await admit('one')).status.requests?.remaining).toBe(1);
      expect((await admit('two')).refusal).toBeNull();
      const refused = await admit('three');
      expect(refused.refusal?.limit).toBe('LIMIT_NAME_REQUESTS_PER_MINUTE');
      expect(refused.refusal?.retryAtMs).toBeGreaterThan(Date.now() - 1_000);
    });

    it('says when the oldest request leaves the minute, also while slots are free', async () => {
      using client = openClient(address());
      const key = `e2e:${randomUUID()}`;
      const sentMs = Date.now();
      const { status } = await client.call<AdmitResponse>('admit', { key, requestId: 'one', limits });
      const answeredMs = Date.now();
      expectBetween(status.requests?.resetsAtMs, sentMs + 60_000, answeredMs + 60_000);
      expectBetween(status.requests?.nextSlotAtMs, sentMs, answeredMs);
      const peeked = await client.call<{ status: LimitStatus }>('peek', { key, limits });
      expect(peeked.status.requests?.resetsAtMs).toEqual(status.requests?.resetsAtMs);
    });

    it('refuses everything at a limit of 0: requests for 60 seconds, tokens until midnight', async () => {
      using client = openClient(address());
      const key = `e2e:${randomUUID()}`;
      const none = { requestsPerMinute: 0 };
      const sentMs = Date.now();
      const first = await client.call<AdmitResponse>('admit', { key, requestId: 'one', limits: none });
      expect(first.refusal?.limit).toBe('LIMIT_NAME_REQUESTS_PER_MINUTE');
      const answeredMs = Date.now();
      expectBetween(first.refusal?.retryAtMs, sentMs + 60_000, answeredMs + 60_000);
      expectBetween(first.status.requests?.resetsAtMs, sentMs + 60_000, answeredMs + 60_000);
      const second = await client.call<AdmitResponse>('admit', { key, requestId: 'two', limits: { tokensPerDay: 0 } });
      expect(second.refusal?.limit).toBe('LIMIT_NAME_TOKENS_PER_DAY');
      expect(second.refusal?.retryAtMs).toEqual(second.status.tokens?.resetsAtMs);
    });

    it('gives each replica of a caller its place, and accepts what they admitted by themselves', async () => {
      using client = openClient(address());
      const group = randomUUID();
      const beat = (replicaId: string, admissions: readonly object[] = []) =>
        client.call<{ replicas: number; position: number }>('heartbeat', { group, replicaId, admissions });
      expect(await beat('one')).toMatchObject({ replicas: 1, position: 0 });
      expect(await beat('two')).toMatchObject({ replicas: 2, position: 1 });
      expect(await beat('one')).toMatchObject({ replicas: 2, position: 0 });
      const key = `e2e:${randomUUID()}`;
      const own = [1, 2].map((n) => ({ key, requestId: `own-${n}`, ageMs: 30_000 }));
      const sentMs = Date.now();
      await beat('one', own);
      const answeredMs = Date.now();
      await beat('one', own);
      const { refusal } = await client.call<AdmitResponse>('admit', { key, requestId: 'next', limits });
      expectBetween(refusal?.retryAtMs, sentMs + 30_000, answeredMs + 30_000);
      const tooMany = Array.from({ length: 1_001 }, (_, n) => ({ key, requestId: String(n), ageMs: 0 }));
      await expect(beat('one', tooMany)).rejects.toMatchObject({ code: 3 });
    });

    it('settles tokens once per request and refuses when the budget is spent', async () => {
      using client = openClient(address());
      const key = `e2e:${randomUUID()}`;
      const first = await client.call<AdmitResponse>('admit', { key, requestId: 'one', limits: { tokensPerDay: 100 } });
      const settle = { key, requestId: 'one', localDay: first.status.localDay, tokens: 100 };
      expect(await client.call('settle', settle)).toMatchObject({ usedTokens: 100 });
      expect(await client.call('settle', settle)).toMatchObject({ usedTokens: 100 });
      const second = await client.call<AdmitResponse>('admit', {
        key,
        requestId: 'two',
        limits: { tokensPerDay: 100 },
      });
      expect(second.refusal?.limit).toBe('LIMIT_NAME_TOKENS_PER_DAY');
      const peeked = await client.call<{ status: LimitStatus }>('peek', { key, limits: { tokensPerDay: 100 } });
      expect(peeked.status.tokens?.remaining).toBe(0);
    });

    it('leaves keys of tokens and groups, and the group of the edges, to the edge and the admin service', async () => {
      using client = openClient(address(), limiterService, limiterProto, 'prometheus');
      const denied = { code: 7 };
      const localDay = '2026-11-20';
      for (const key of [`token:${randomUUID()}`, `group:${randomUUID()}`]) {
        await expect(client.call('admit', { key, requestId: 'one', limits })).rejects.toMatchObject(denied);
        await expect(client.call('settle', { key, requestId: 'one', localDay, tokens: 1 })).rejects.toMatchObject(
          denied,
        );
        await expect(client.call('peek', { key, limits })).rejects.toMatchObject(denied);
        const admissions = [{ key, requestId: 'one', ageMs: 0 }];
        const beat = { group: 'mine', replicaId: 'a', admissions };
        await expect(client.call('heartbeat', beat)).rejects.toMatchObject(denied);
      }
      await expect(client.call('heartbeat', { group: 'edge', replicaId: 'a' })).rejects.toMatchObject(denied);
    });

    it('separates equal keys of two services', async () => {
      using one = openClient(address());
      using other = openClient(address(), limiterService, limiterProto, 'prometheus');
      const check = { key: `e2e:${randomUUID()}`, limits: { requestsPerMinute: 1 } };
      const refusals = [];
      for (const [client, requestId] of [
        [one, 'a'],
        [other, 'b'],
        [one, 'c'],
        [other, 'd'],
      ] as const) {
        refusals.push((await client.call<AdmitResponse>('admit', { ...check, requestId })).refusal?.limit);
      }
      const limit = 'LIMIT_NAME_REQUESTS_PER_MINUTE';
      expect(refusals).toEqual([undefined, undefined, limit, limit]);
    });

    it('describes the problem of a bad request', async () => {
      using client = openClient(address());
      await expect(client.call('admit', { key: '', requestId: 'one', limits })).rejects.toMatchObject({ code: 3 });
    });

    it('answers the standard health check', async () => {
      using client = openClient(address(), 'grpc.health.v1.Health', healthProto);
      expect(await client.call('check', { service: '' })).toMatchObject({ status: 'SERVING' });
    });
  });
}

/** The clock of another process may differ by a second. */
function expectBetween(atMs: number | undefined, fromMs: number, toMs: number): void {
  expect(atMs).toBeGreaterThan(fromMs - 1_000);
  expect(atMs).toBeLessThan(toMs + 1_000);
}

interface ProtoClient extends Disposable {
  call<T>(method: string, request: object): Promise<T>;
}

const limiterService = 'gateway.limiter.v2.LimiterService';
const limiterProto = 'gateway/limiter/v2/limiter_service.proto';
const healthProto = fileURLToPath(import.meta.resolve('grpc-health-check/proto/health/v1/health.proto'));

/** A client with the certificate of a holder. */
function openClient(address: string, service = limiterService, proto = limiterProto, holder = 'admin'): ProtoClient {
  const definition = loadSync(proto, { includeDirs: [protoFolder], longs: String, enums: String, defaults: true });
  loadPackageDefinition(definition);
  const Client = makeGenericClientConstructor(definition[service] as ServiceDefinition, service);
  const client = new Client(address, grpcCredentials(holder));
  return {
    call: (method, request) =>
      new Promise((resolve, reject) => {
        const deadline = { deadline: Date.now() + roomMs(5_000) };
        // The generated methods are known only at run time; `this` is the client.
        const invoke = Reflect.get(client, method) as (...args: unknown[]) => void;
        invoke.call(client, request, deadline, (error: unknown, response: never) =>
          error ? reject(error) : resolve(response),
        );
      }),
    [Symbol.dispose]: () => client.close(),
  };
}
