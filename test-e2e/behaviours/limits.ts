import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { issueToken, revokeToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

const limitHeaders = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
];

const limitHeadersOf = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-ratelimit-')));

const duration = /^(\d+h)?(\d+m)?\d+s$/;

/** Requests per minute and tokens per day. @see spec "Limits" */
export function limitsBehaviour(gateway: () => Topology): void {
  describe('rate-limit headers', () => {
    it('are all six on answers to a service token, count down, and are also on a 400', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 5, tokensPerDay: 100_000 });
      const first = await chat(gateway(), token.text, { model: 'gateway/snel' });
      expect(first.status).toBe(200);
      expect(limitHeadersOf(first.headers)).toEqual({
        'x-ratelimit-limit-requests': '5',
        'x-ratelimit-remaining-requests': '4',
        'x-ratelimit-reset-requests': '1m0s',
        'x-ratelimit-limit-tokens': '100000',
        'x-ratelimit-remaining-tokens': '100000',
        'x-ratelimit-reset-tokens': expect.stringMatching(duration),
      });
      const refused = await chat(gateway(), token.text, { model: 'gateway/snel', messages: [] });
      expect(refused.status).toBe(400);
      expect(Object.keys(limitHeadersOf(refused.headers)).sort()).toEqual([...limitHeaders].sort());
      expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('3');
      const used = (first.json as { usage: { total_tokens: number } }).usage.total_tokens;
      expect(refused.headers.get('x-ratelimit-remaining-tokens')).toBe(String(100_000 - used));
    });

    it('are on a stream before it starts', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 5, tokensPerDay: 100_000 });
      const { headers } = await chat(gateway(), token.text, { model: 'gateway/claude', stream: true });
      expect(Object.keys(limitHeadersOf(headers)).sort()).toEqual([...limitHeaders].sort());
    });

    it('are absent, a pair at a time, when a limit is not set', async () => {
      const onlyRequests = await issueToken(gateway(), { requestsPerMinute: 5 });
      const first = await chat(gateway(), onlyRequests.text, { model: 'gateway/snel' });
      expect(Object.keys(limitHeadersOf(first.headers)).sort()).toEqual(limitHeaders.slice(0, 3).sort());
      const onlyTokens = await issueToken(gateway(), { tokensPerDay: 5_000 });
      const second = await chat(gateway(), onlyTokens.text, { model: 'gateway/snel' });
      expect(Object.keys(limitHeadersOf(second.headers)).sort()).toEqual(limitHeaders.slice(3).sort());
      const personal = await issueToken(gateway(), { kind: 'personal' });
      const third = await chat(gateway(), personal.text, { model: 'gateway/snel' });
      expect(limitHeadersOf(third.headers)).toEqual({});
    });
  });

  describe('a token over its requests per minute', () => {
    it('is refused with the limit, retryAt and retry-after, and all six headers', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 2, tokensPerDay: 100_000 });
      for (let n = 0; n < 2; n++)
        expect((await chat(gateway(), token.text, { model: 'gateway/snel' })).status).toBe(200);
      const before = Date.now();
      const { status, headers, json } = await chat(gateway(), token.text, { model: 'gateway/snel' });
      const after = Date.now();
      expect(status).toBe(429);
      expect(json).toEqual({
        error: {
          code: 'rate_limit_exceeded',
          message: expect.any(String),
          limit: 'requests_per_minute',
          retryAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      });
      const { retryAt } = (json as { error: { retryAt: string } }).error;
      const retryAfterSeconds = Number(headers.get('retry-after'));
      expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(retryAfterSeconds).toBeLessThanOrEqual(60);
      // A client that waits this long is neither too early nor a second too late.
      expect(after + retryAfterSeconds * 1_000).toBeGreaterThanOrEqual(Date.parse(retryAt));
      expect(before + (retryAfterSeconds - 1) * 1_000).toBeLessThanOrEqual(Math.max(before, Date.parse(retryAt)));
      expect(Object.keys(limitHeadersOf(headers)).sort()).toEqual([...limitHeaders].sort());
      expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
    });

    it('admits exactly the limit out of many at once', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 10 });
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => chat(gateway(), token.text, { model: 'gateway/snel' })),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
    });

    it('takes a slot for listing models too, which carries no headers', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 1 });
      const list = () =>
        fetch(`${gateway().baseUrl}/v1/models`, { headers: { authorization: `Bearer ${token.text}` } });
      const first = await list();
      expect(first.status).toBe(200);
      expect(limitHeadersOf(first.headers)).toEqual({});
      const second = await list();
      expect(second.status).toBe(429);
      expect(limitHeadersOf(second.headers)).toEqual({});
    });
  });

  describe('resetsAt of the requests per minute', () => {
    it('is when the oldest request is 60 seconds old, also while slots are free, and now without one', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 5 });
      const resetsAt = async () =>
        Date.parse((await usageOf(gateway(), token.text)).limits.requestsPerMinute?.resetsAt ?? '');
      const freshMs = Date.now();
      const empty = await resetsAt();
      expect(empty).toBeGreaterThanOrEqual(freshMs - 1_000);
      expect(empty).toBeLessThanOrEqual(Date.now() + 1_000);

      const firstMs = Date.now();
      await chat(gateway(), token.text, { model: 'gateway/snel' });
      const answeredMs = Date.now();
      const oldest = await resetsAt();
      expect(oldest).toBeGreaterThanOrEqual(firstMs + 59_000);
      expect(oldest).toBeLessThanOrEqual(answeredMs + 61_000);
      await chat(gateway(), token.text, { model: 'gateway/snel' });
      expect(await resetsAt()).toBe(oldest);
    });
  });

  describe('a token over its tokens per day', () => {
    it('completes the request that crosses the budget and is refused at the next, until midnight', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 100, tokensPerDay: 3 });
      const crossing = await chat(gateway(), token.text, { model: 'gateway/claude' });
      expect(crossing.status).toBe(200);
      const { status, headers, json } = await chat(gateway(), token.text, { model: 'gateway/claude' });
      expect(status).toBe(429);
      expect(json).toMatchObject({ error: { code: 'rate_limit_exceeded', limit: 'tokens_per_day' } });
      expect(headers.get('x-should-retry')).toBe('false');
      expect(headers.get('x-ratelimit-remaining-tokens')).toBe('0');
      const { limits } = await usageOf(gateway(), token.text);
      expect((json as { error: { retryAt: string } }).error.retryAt).toBe(limits.tokensPerDay?.resetsAt);
    });

    it('is refused after a stream that crossed the budget as well', async () => {
      const token = await issueToken(gateway(), { tokensPerDay: 3 });
      const crossing = await chat(gateway(), token.text, { model: 'gateway/sterk', stream: true });
      expect(crossing.text.endsWith('data: [DONE]\n\n')).toBe(true);
      expect((await chat(gateway(), token.text, { model: 'gateway/sterk' })).status).toBe(429);
    });
  });

  describe('a revoked token', () => {
    it('is refused soon after', async () => {
      const token = await issueToken(gateway());
      expect((await chat(gateway(), token.text, { model: 'gateway/snel' })).status).toBe(200);
      await revokeToken(gateway(), token.tokenId);
      await expect
        .poll(async () => (await chat(gateway(), token.text, { model: 'gateway/snel' })).status, {
          interval: 200,
        })
        .toBe(401);
    });
  });
}
