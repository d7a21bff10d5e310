import { GatewayError } from '@gateway/errors';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { describe, expect, it } from 'vitest';
import { directClient } from './client.ts';
import { type CallContext, serviceRoute } from './service-types.ts';

let lastContext: CallContext | undefined;
let calls = 0;

const client = directClient(
  serviceRoute(LimiterService, {
    admit: ({ key }, context) => {
      calls++;
      lastContext = context;
      if (key === 'refused') throw new GatewayError('invalid_request', 'No.');
      return { status: { localDay: key } };
    },
    settle: () => new Promise<never>(() => undefined),
    peek: () => ({}),
    heartbeat: () => ({}),
    reserve: () => ({}),
    renew: () => ({}),
    admitStream: async function* () {
      await new Promise<never>(() => undefined);
    },
  }),
);

describe('a call in process', () => {
  it('is answered with a whole message, and its context is over', async () => {
    const answer = await client.admit({ key: 'k' }, { timeoutMs: 1_000 });
    expect(answer).toMatchObject({ $typeName: 'gateway.limiter.v2.AdmitResponse', status: { localDay: 'k' } });
    expect(lastContext?.signal.aborted).toBe(true);
  });

  it('fails with what the handler throws', async () => {
    await expect(client.admit({ key: 'refused' })).rejects.toMatchObject({ code: 'invalid_request' });
    expect(lastContext?.signal.aborted).toBe(true);
  });

  it('does not reach the handler when its caller had aborted before', async () => {
    const before = calls;
    const answer = client.admit({ key: 'k' }, { signal: AbortSignal.abort() });
    await expect(answer).rejects.toMatchObject({ name: 'RpcError', status: 'cancelled' });
    expect(calls).toBe(before);
  });

  it('does not wait for a handler that ignores its signal', async () => {
    await expect(client.settle({}, { timeoutMs: 5 })).rejects.toMatchObject({ status: 'deadline_exceeded' });
    const stream = client.admitStream((async function* () {})(), { timeoutMs: 5 })[Symbol.asyncIterator]();
    await expect(stream.next()).rejects.toMatchObject({ status: 'deadline_exceeded' });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });
});
