import { create } from '@bufbuild/protobuf';
import type { Check, Decision } from '@gateway/limits';
import { TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { CostKind, LimitName, LimitStatusSchema, RefusalSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { admit } from './admit.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const pricing = { prices: { currency: 'EUR' } };
let time: ManualTime;
beforeEach(() => {
  time = new ManualTime(noonMs);
});
afterEach(() => time[Symbol.dispose]());
const token = create(TokenSchema, {
  tokenId: 't',
  kind: TokenKind.SERVICE,
  limits: { requestsPerMinute: 5, tokensPerDay: 0 },
});

/**
 * Admits a request with this decision of the limiter, and returns the limiter's requests as well.
 */
async function admitAs(decision: Decision, asker = token) {
  const asked: Check[] = [];
  const limiter = {
    admit: async (check: Check) => {
      asked.push(check);
      return decision;
    },
  };
  const admission = await admit('r', asker, CostKind.REQUEST_ONLY, { limiter, pricing });
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
        limits: { requestsPerMinute: 5, tokensPerDay: 0 },
        costKind: CostKind.REQUEST_ONLY,
      },
    ]);
    expect(admission).toEqual({ admittedAtMs: noonMs, localDay: '2026-11-21', headers: {} });
  });

  it('has the refusal as an error, beside the headers', async () => {
    const status = create(LimitStatusSchema, { requests: { limit: 5, emptyAfterMs: 42_000 } });
    const retryAtMs = noonMs + 1_000;
    const refusal = create(RefusalSchema, { limit: LimitName.REQUESTS_PER_MINUTE, retryAtMs, retryAfterMs: 1_000 });
    const { admission } = await admitAs({ status, refusal });
    expect(admission.headers).toMatchObject({ 'x-ratelimit-reset-requests': '42s' });
    expect(admission.refusal).toMatchObject({
      code: 'rate_limit_exceeded',
      limit: 'requests_per_minute',
      retryAfterMs: 1_000,
      retryAtMs: noonMs + 1_000,
    });
  });

  it.each([
    ['ahead of', -5_000],
    ['behind', 300_000],
  ])('is told by durations when the clock of the edge is %s the store’s', async (_, offMs) => {
    const at = (afterMs: number) => noonMs + offMs + afterMs;
    const resets = { limit: 5, remaining: 0, resetsAtMs: at(60_000), resetsAfterMs: 60_000 };
    const requests = { limit: 5, emptyAtMs: at(42_000), emptyAfterMs: 42_000 };
    const status = create(LimitStatusSchema, { requests, tokens: resets });
    const refusal = create(RefusalSchema, {
      limit: LimitName.TOKENS_PER_DAY,
      retryAtMs: at(60_000),
      retryAfterMs: 60_000,
    });
    const { admission } = await admitAs({ status, refusal });
    const shown = { 'x-ratelimit-reset-requests': '42s', 'x-ratelimit-reset-tokens': '1m0s' };
    expect(admission.headers).toMatchObject(shown);
    expect(admission.refusal).toMatchObject({ retryAfterMs: 60_000, retryAtMs: noonMs + 60_000 });
  });

  it('asks nothing for a personal token, whatever its row says', async () => {
    const { asked } = await admitAs({}, create(TokenSchema, { ...token, kind: TokenKind.PERSONAL }));
    expect(asked).toEqual([]);
  });

  it('asks nothing for a token without limits', async () => {
    const { asked, admission } = await admitAs({}, create(TokenSchema, { tokenId: 't', limits: {} }));
    expect(asked).toEqual([]);
    expect(admission).toEqual({ admittedAtMs: noonMs, localDay: '2026-11-20', headers: {} });
  });
});
