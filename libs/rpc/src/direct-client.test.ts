import { GatewayError } from '@gateway/errors';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { describe, expect, it } from 'vitest';
import { directClient } from './direct-client.ts';
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
    settle: () => ({}),
    peek: () => ({}),
    heartbeat: () => ({}),
    admitStream: async function* () {},
  }),
);

describe('a call in process that its handler answers at once', () => {
  it('is answered with a whole message, and its context is over', async () => {
    const answer = client.admit({ key: 'k' }, { timeoutMs: 1 });
    expect(lastContext?.signal.aborted).toBe(true);
    expect(await answer).toMatchObject({ $typeName: 'gateway.limiter.v1.AdmitResponse', status: { localDay: 'k' } });
  });

  it('fails with what the handler throws, as a promise', async () => {
    const answer = client.admit({ key: 'refused' });
    await expect(answer).rejects.toMatchObject({ code: 'invalid_request' });
    expect(lastContext?.signal.aborted).toBe(true);
  });

  it('does not reach the handler when its caller had aborted before', async () => {
    const before = calls;
    const answer = client.admit({ key: 'k' }, { signal: AbortSignal.abort() });
    await expect(answer).rejects.toMatchObject({ name: 'RpcError', status: 'cancelled' });
    expect(calls).toBe(before);
  });
});
