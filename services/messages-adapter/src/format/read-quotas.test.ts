import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRateLimit, readWindows } from './read-quotas.ts';

const nowMs = 1_795_132_800_000;
const nowSeconds = nowMs / 1_000;
const unified = 'anthropic-ratelimit-unified';
const read = (headers: Readonly<Record<string, string>>) => readWindows({ headers, model: 'claude-opus-5', nowMs });

describe('the usage windows of a subscription', () => {
  it('are those of the account and of model families', () => {
    const headers = {
      [`${unified}-status`]: 'allowed',
      [`${unified}-reset`]: `${nowSeconds + 600}`,
      [`${unified}-5h-status`]: 'allowed_warning',
      [`${unified}-5h-reset`]: `${nowSeconds + 600}`,
      [`${unified}-5h-utilization`]: '0.9',
      [`${unified}-7d-status`]: 'allowed',
      [`${unified}-7d-reset`]: `${nowSeconds + 400_000}`,
      [`${unified}-7d-utilization`]: '0.5',
      [`${unified}-7d_opus-status`]: 'allowed',
      [`${unified}-7d_opus-reset`]: `${nowSeconds + 300_000}`,
      [`${unified}-7d_opus-utilization`]: '0.25',
      [`${unified}-overage-status`]: 'rejected',
      [`${unified}-representative-claim`]: 'five_hour',
    };
    expect(read(headers)).toEqual([
      { name: '5h', models: '', usedFraction: 0.9, resetsAtMs: nowMs + 600_000, lengthSeconds: 18_000 },
      { name: '7d', models: '', usedFraction: 0.5, resetsAtMs: nowMs + 400_000_000, lengthSeconds: 604_800 },
      {
        name: '7d_opus',
        models: '*opus*',
        usedFraction: 0.25,
        resetsAtMs: nowMs + 300_000_000,
        lengthSeconds: 604_800,
      },
    ]);
  });

  it.each([
    ['used up when it refuses, however it is rounded', { '5h-status': 'rejected', '5h-utilization': '0.99' }, 1],
    ['used up when it refuses without an amount', { '5h-status': 'rejected' }, 1],
    ['beyond its end when it says so', { '5h-status': 'rejected', '5h-utilization': '1.2' }, 1.2],
    ['not used up while it lets requests pass', { '5h-status': 'allowed', '5h-utilization': '1.0' }, 0.999],
    ['not used up while the account lets them pass', { status: 'allowed', '5h-status': 'rejected' }, 0.999],
    ['used up when the account refuses too', { status: 'rejected', '5h-status': 'rejected' }, 1],
    ['as full as it says', { '5h-utilization': '0.3' }, 0.3],
  ])('is %s', (_, values, usedFraction) => {
    const headers = Object.fromEntries(Object.entries(values).map(([name, value]) => [`${unified}-${name}`, value]));
    expect(read(headers)).toMatchObject([{ name: '5h', usedFraction }]);
  });

  it('are none when they are open and name no amount', () => {
    expect(read({ [`${unified}-5h-status`]: 'allowed' })).toEqual([]);
    expect(read({ [`${unified}-status`]: 'rejected', [`${unified}-overage-status`]: 'rejected' })).toEqual([]);
  });

  it('reset no later than they can', () => {
    const resetOf = (reset: number) =>
      read({ [`${unified}-5h-utilization`]: '0.5', [`${unified}-5h-reset`]: `${reset}` })[0]?.resetsAtMs;
    expect(resetOf(nowSeconds + 9e6)).toBe(nowMs + 6 * 3_600_000);
    expect(resetOf(nowMs + 60_000)).toBe(nowMs + 60_000);
    expect(resetOf(nowSeconds - 1)).toBeUndefined();
  });
});

describe('the limits of an API key', () => {
  it('hold for the model that was asked', () => {
    const headers = {
      'anthropic-ratelimit-requests-limit': '50',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': new Date(nowMs + 9_000).toISOString(),
      'anthropic-ratelimit-input-tokens-limit': '80000',
      'anthropic-ratelimit-input-tokens-remaining': '60000',
      'anthropic-ratelimit-input-tokens-reset': new Date(nowMs).toISOString(),
    };
    const rest = { models: 'claude-opus-5', lengthSeconds: 0 };
    expect(read(headers)).toEqual([
      { ...rest, name: 'requests', usedFraction: 1, resetsAtMs: nowMs + 9_000 },
      { ...rest, name: 'input-tokens', usedFraction: 0.25, resetsAtMs: undefined },
    ]);
  });
});

describe('any headers', () => {
  it('give windows of sensible amounts and times, or none', () => {
    const windows = ['5h-status', '5h-utilization', '5h-reset', '7d_oi-utilization', '7d_oi-status', 'status', 'reset'];
    const limits = ['tokens-limit', 'tokens-remaining', 'tokens-reset'];
    const names = [
      ...windows.map((name) => `${unified}-${name}`),
      ...limits.map((name) => `anthropic-ratelimit-${name}`),
    ];
    const value = fc.oneof(fc.string(), fc.constant('rejected'), fc.double().map(String), fc.integer().map(String));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (headers) => {
        for (const { usedFraction, resetsAtMs = nowMs + 1, lengthSeconds } of read(headers)) {
          expect(usedFraction).toBeGreaterThanOrEqual(0);
          expect(resetsAtMs).toBeGreaterThan(nowMs);
          expect(lengthSeconds).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});

describe("a provider whose clock differs from this machine's", () => {
  it.each([0, 600_000, -600_000])('ends its limits after the same time here, %i ms later', (skewMs) => {
    const iso = (ms: number) => new Date(nowMs - skewMs + ms).toISOString();
    const ofKey = {
      'anthropic-ratelimit-requests-limit': '50',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': iso(30_000),
    };
    const ofSubscription = {
      [`${unified}-status`]: 'rejected',
      [`${unified}-5h-status`]: 'rejected',
      [`${unified}-5h-utilization`]: '1',
      [`${unified}-5h-reset`]: `${(nowMs - skewMs) / 1_000 + 600}`,
    };
    for (const [headers, afterMs] of [
      [ofKey, 30_000],
      [ofSubscription, 600_000],
    ] as const) {
      const answer = { headers, model: 'claude-opus-5', nowMs, skewMs };
      expect(readWindows(answer)).toMatchObject([{ resetsAtMs: nowMs + afterMs }]);
      expect(readRateLimit(answer).retryAtMs).toBe(nowMs + afterMs);
    }
  });
});
