import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Check, Decision } from '@gateway/limits';
import { CostKind, LimitName, LimitStatusSchema, RefusalSchema } from '@gateway/proto/limiter/v1/limit_pb.js';
import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import type { Principal } from '../authentication/authenticate.ts';
import { admit } from './admit.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const clock = new ManualClock(noonMs);
const principal: Principal = {
  tokenId: 't',
  caller: 'c',
  kind: 'service',
  label: 'ci',
  limits: { requestsPerMinute: 5, tokensPerDay: 0 },
};

/** Admits a request as a limiter decides, and answers what that was asked. */
async function admitAs(decision: Decision, asker = principal) {
  const asked: Check[] = [];
  const limiter = {
    admit: async (check: Check) => {
      asked.push(check);
      return decision;
    },
  };
  const admission = await admit('r', asker, CostKind.REQUEST_ONLY, { limiter, clock });
  return { asked, admission };
}

describe('the admission of a request', () => {
  it('asks for the token, with its limits', async () => {
    const status = create(LimitStatusSchema, { localDay: '2026-11-21' });
    const { asked, admission } = await admitAs({ status });
    expect(asked).toMatchObject([
      {
        key: 'token:t',
        requestId: 'r',
        limits: { requestsPerMinute: 5, tokensPerDay: 0n },
        costKind: CostKind.REQUEST_ONLY,
      },
    ]);
    expect(admission).toEqual({ admittedAtMs: noonMs, localDay: '2026-11-21', headers: {} });
  });

  it('has the refusal as an error, beside the headers', async () => {
    const status = create(LimitStatusSchema, { requests: { limit: 5, emptyAt: timestampFromMs(noonMs + 42_000) } });
    const retryAt = timestampFromMs(noonMs + 1_000);
    const refusal = create(RefusalSchema, { limit: LimitName.REQUESTS_PER_MINUTE, retryAt });
    const { admission } = await admitAs({ status, refusal });
    expect(admission.headers).toMatchObject({ 'x-ratelimit-reset-requests': '42s' });
    expect(admission.refusal).toMatchObject({
      code: 'rate_limit_exceeded',
      limit: 'requests_per_minute',
      retryAtMs: noonMs + 1_000,
    });
  });

  it('asks nothing for a token without limits', async () => {
    const { asked, admission } = await admitAs({}, { ...principal, limits: {} as Principal['limits'] });
    expect(asked).toEqual([]);
    expect(admission).toEqual({ admittedAtMs: noonMs, localDay: '2026-11-20', headers: {} });
  });
});
