import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readWindows } from './read-quotas.ts';

const nowMs = 1_795_132_800_000;
const nowSeconds = nowMs / 1_000;
const read = (headers: Readonly<Record<string, string>>) => readWindows({ headers, model: 'gpt-5.5', nowMs });

describe('the usage windows of a subscription', () => {
  it('differ by their length: which of them is the primary one differs by plan', () => {
    const headers = {
      'x-codex-plan-type': 'pro',
      'x-codex-primary-used-percent': '12.5',
      'x-codex-primary-window-minutes': '10080',
      'x-codex-primary-reset-at': `${nowSeconds + 400_000}`,
      'x-codex-secondary-used-percent': '100.0',
      'x-codex-secondary-window-minutes': '300',
      'x-codex-secondary-reset-after-seconds': '7200',
    };
    expect(read(headers)).toEqual([
      { name: '7d', models: '', usedFraction: 0.125, resetsAtMs: nowMs + 400_000_000, lengthSeconds: 604_800 },
      { name: '5h', models: '', usedFraction: 1, resetsAtMs: nowMs + 7_200_000, lengthSeconds: 18_000 },
    ]);
  });

  it('can be those of a model family', () => {
    const headers = {
      'x-codex-bengalfox-primary-used-percent': '40',
      'x-codex-bengalfox-primary-window-minutes': '90',
    };
    expect(read(headers)).toMatchObject([{ name: '90m_bengalfox', models: '*bengalfox*', usedFraction: 0.4 }]);
  });

  it('go by their rank where their length is not given', () => {
    expect(read({ 'x-codex-primary-used-percent': '3' })).toEqual([
      { name: 'primary', models: '', usedFraction: 0.03, resetsAtMs: undefined, lengthSeconds: 0 },
    ]);
  });

  it.each([
    ['the absolute time before the duration', { 'reset-at': `${nowSeconds + 60}`, 'reset-after-seconds': '9' }, 60],
    ['no time that has passed', { 'reset-at': `${nowSeconds - 1}` }, undefined],
    ['no time much later than the window is long', { 'reset-at': `${nowSeconds + 9e6}` }, 18_000 * 1.15],
    ['nothing unreadable', { 'reset-after-seconds': 'soon' }, undefined],
  ])('reset at %s', (_, reset, inSeconds) => {
    const window = { 'used-percent': '50', 'window-minutes': '300', ...reset };
    const named = Object.entries(window).map(([name, value]) => [`x-codex-primary-${name}`, value]);
    const expected = inSeconds === undefined ? undefined : nowMs + inSeconds * 1_000;
    expect(read(Object.fromEntries(named))).toMatchObject([{ resetsAtMs: expected }]);
  });
});

describe('the limits of an API key', () => {
  it('hold for the model that was asked', () => {
    const headers = {
      'x-ratelimit-limit-requests': '500',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '6m0s',
      'x-ratelimit-limit-tokens': '200000',
      'x-ratelimit-remaining-tokens': '150000',
      'x-ratelimit-reset-tokens': '12ms',
    };
    expect(read(headers)).toEqual([
      { name: 'requests', models: 'gpt-5.5', usedFraction: 1, resetsAtMs: nowMs + 360_000, lengthSeconds: 0 },
      { name: 'tokens', models: 'gpt-5.5', usedFraction: 0.25, resetsAtMs: nowMs + 12, lengthSeconds: 0 },
    ]);
  });

  it('are none without both the limit and what remains', () => {
    expect(read({ 'x-ratelimit-limit-requests': '500' })).toEqual([]);
    expect(read({ 'x-ratelimit-remaining-requests': '5' })).toEqual([]);
    expect(read({ 'x-ratelimit-limit-requests': '0', 'x-ratelimit-remaining-requests': '0' })).toEqual([]);
  });
});

describe('any headers', () => {
  it('give windows of sensible amounts and times, or none', () => {
    const names = ['x-codex-primary-used-percent', 'x-codex-primary-window-minutes', 'x-codex-primary-reset-at'];
    const more = ['x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens'];
    const value = fc.oneof(fc.string(), fc.double().map(String), fc.integer().map(String));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names, ...more), value), (headers) => {
        for (const { usedFraction, resetsAtMs = nowMs + 1, lengthSeconds } of read(headers)) {
          expect(usedFraction).toBeGreaterThanOrEqual(0);
          expect(resetsAtMs).toBeGreaterThan(nowMs);
          expect(lengthSeconds).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
