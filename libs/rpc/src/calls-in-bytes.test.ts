import { GatewayError } from '@gateway/errors';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { describe, expect, it } from 'vitest';
import { answerInBytes, clientInBytes } from './calls-in-bytes.ts';
import { serviceRoute } from './service-types.ts';

const limiter = serviceRoute(LimiterService, {
  admit: async ({ key }) => ({ status: { localDay: key } }),
  settle: async ({ tokens }) => {
    if (tokens === 0n) throw new GatewayError('invalid_request', 'Nothing to settle.');
    return { usedTokens: tokens * 2n };
  },
  peek: () => ({}),
  heartbeat: () => ({}),
  admitStream: async function* () {},
});

describe('a client whose calls are bytes', () => {
  const client = clientInBytes(LimiterService, (call) => answerInBytes([limiter], call));

  it('carries requests and answers', async () => {
    expect((await client.admit({ key: 'k' })).status?.localDay).toBe('k');
    expect((await client.settle({ tokens: 21n })).usedTokens).toBe(42n);
  });

  it('lets the failure of a handler through', async () => {
    await expect(client.settle({})).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('fails when nobody serves what it calls', async () => {
    const lost = clientInBytes(LimiterService, (call) => answerInBytes([], call));
    await expect(lost.peek({})).rejects.toThrow('gateway.limiter.v1.LimiterService/peek is not served here');
  });
});
