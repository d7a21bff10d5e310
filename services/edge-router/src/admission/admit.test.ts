import { create } from '@bufbuild/protobuf';
import { LimitStatusSchema } from '@gateway/proto/limiter/v1/limit_pb.js';
import { AdmitResponseSchema, type LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { admit } from './admit.ts';
import type { LocalAdmission } from './local-admission.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const admitted = () => create(AdmitResponseSchema, { status: { localDay: '2026-11-20' } });

/** A limiter that fails in these ways, one after the other, and then answers; and what decided in the end. */
async function admitAfter(failures: readonly RpcError['status'][]) {
  const asked: string[] = [];
  const left = [...failures];
  const limiter: Pick<Client<typeof LimiterService>, 'admit'> = {
    admit: async ({ requestId = '' }) => {
      asked.push(requestId);
      const status = left.shift();
      if (status !== undefined) throw new RpcError(status, 'failed');
      return admitted();
    },
  };
  let decidedBy = 'the limiter';
  const local: Pick<LocalAdmission, 'admit'> = {
    admit: () => {
      decidedBy = 'the edge';
      return { status: create(LimitStatusSchema, { localDay: '2026-11-20' }) };
    },
  };
  const limits = { requestsPerMinute: 5, tokensPerDay: undefined };
  const principal = { tokenId: 't', caller: 'c', kind: 'service', label: 'ci', limits } as const;
  const peers = { limiter, local, clock: new ManualClock(noonMs), timeoutMs: 1_000 };
  await admit({ requestId: 'r', principal, cost: 'request_and_tokens' }, peers);
  return { asked, decidedBy };
}

describe('an edge that asks its limiter', () => {
  it('asks once more, with the same id, when the connection broke', async () => {
    expect(await admitAfter(['unavailable'])).toEqual({ asked: ['r', 'r'], decidedBy: 'the limiter' });
  });

  it('decides by itself when that fails as well', async () => {
    expect(await admitAfter(['unavailable', 'unavailable'])).toEqual({ asked: ['r', 'r'], decidedBy: 'the edge' });
  });

  it.each(['deadline_exceeded', 'internal'] as const)('decides by itself at once after %s', async (status) => {
    expect(await admitAfter([status])).toEqual({ asked: ['r'], decidedBy: 'the edge' });
  });
});
