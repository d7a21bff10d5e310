import type { AnswerReader } from '@gateway/adapter-kit';
import { createChatAnswer } from '@gateway/chat';
import type { JsonObject } from '@gateway/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frame, replayedAtMs } from './__fixtures__/replay.ts';
import { EventReader } from './event-reader.ts';
import { eventWindows, readWindows } from './read-quotas.ts';
import { RelayAnswerReader } from './relay-answer-reader.ts';

const nowMs = replayedAtMs;
const nowSeconds = nowMs / 1_000;

const week = { used_percent: 12.5, window_minutes: 10_080, reset_at: nowSeconds + 400_000 };
const hours = { used_percent: 100, window_minutes: 300, reset_after_seconds: 7_200 };
const limits = (primary: unknown, secondary: unknown = null, more: JsonObject = {}) => ({
  type: 'codex.rate_limits',
  plan_type: 'plus',
  rate_limits: { allowed: true, limit_reached: false, primary, secondary },
  credits: null,
  ...more,
});
const weekWindow = {
  name: '7d',
  models: '',
  usedFraction: 0.125,
  resetsAtMs: nowMs + 400_000_000,
  lengthSeconds: 604_800,
};
const hoursWindow = { name: '5h', models: '', usedFraction: 1, resetsAtMs: nowMs + 7_200_000, lengthSeconds: 18_000 };

describe('the windows of a rate-limit event', () => {
  it('differ by their length, whichever of them is the primary one', () => {
    expect(eventWindows(limits(week, hours), { nowMs })).toEqual([weekWindow, hoursWindow]);
    expect(eventWindows(limits(hours, week), { nowMs })).toEqual([hoursWindow, weekWindow]);
  });

  it('say the same as headers of the same amounts', () => {
    const headers = {
      'x-codex-primary-used-percent': '12.5',
      'x-codex-primary-window-minutes': '10080',
      'x-codex-primary-reset-at': `${nowSeconds + 400_000}`,
      'x-codex-bengalfox-primary-used-percent': '100',
      'x-codex-bengalfox-primary-window-minutes': '300',
      'x-codex-bengalfox-primary-reset-after-seconds': '7200',
    };
    const ofFamily = limits(hours, null, { metered_limit_name: 'codex_bengalfox' });
    expect([...eventWindows(limits(week), { nowMs }), ...eventWindows(ofFamily, { nowMs })]).toEqual(
      readWindows({ headers, model: 'gpt-5.5', nowMs }),
    );
  });

  it.each([
    ['codex', ''],
    ['codex_bengalfox', '*bengalfox*'],
    ['codex-Spark', '*spark*'],
    ['', ''],
  ])('of the limit %j hold for the models %j', (name, models) => {
    expect(eventWindows(limits(hours, null, { metered_limit_name: name }), { nowMs })).toMatchObject([{ models }]);
    expect(eventWindows(limits(hours, null, { limit_name: name }), { nowMs })).toMatchObject([{ models }]);
  });

  it('are of sensible amounts and times, or none, whatever the event holds', () => {
    const anyWindow = fc.oneof(
      fc.jsonValue(),
      fc.record({ used_percent: fc.jsonValue(), window_minutes: fc.double(), reset_at: fc.double() }),
    );
    fc.assert(
      fc.property(anyWindow, anyWindow, fc.string(), (primary, secondary, name) => {
        const event = limits(primary, secondary, { metered_limit_name: name });
        for (const { usedFraction, resetsAtMs = nowMs + 1, lengthSeconds } of eventWindows(event, { nowMs })) {
          expect(usedFraction).toBeGreaterThanOrEqual(0);
          expect(resetsAtMs).toBeGreaterThan(nowMs);
          expect(lengthSeconds).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});

const readers: readonly (readonly [string, () => AnswerReader])[] = [
  [
    'chat answer',
    () =>
      new EventReader(newChatAnswer(), {
        wantsJson: false,
        nowMs,
        maxAnswerBytes: 1_000_000,
        maxEventBytes: 1_000_000,
      }),
  ],
  ['relayed answer', () => new RelayAnswerReader({ nowMs, maxEventBytes: 1_000_000 })],
];

describe.each(readers)('a %s', (_kind, newReader) => {
  const quotasAfter = (...events: readonly (JsonObject & { readonly type: string })[]) => {
    const reader = newReader();
    reader.push(Buffer.from(events.map(frame).join('')));
    return reader.quotas;
  };
  const said = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi.' };
  const completed = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } };

  it('that ends well reports the quotas that its events named', () => {
    expect(quotasAfter(limits(week, hours), said, completed)).toEqual([weekWindow, hoursWindow]);
    expect(quotasAfter(said, limits(week), completed)).toEqual([weekWindow]);
    expect(quotasAfter(said, completed)).toEqual([]);
  });

  it('that fails does so too', () => {
    expect(quotasAfter(limits(hours), { type: 'error', error: { code: 'server_error' } })).toEqual([hoursWindow]);
  });

  it('keeps the latest word on each of them', () => {
    const later = limits({ ...week, used_percent: 50 }, null);
    expect(quotasAfter(limits(week, hours), later, said)).toEqual([hoursWindow, { ...weekWindow, usedFraction: 0.5 }]);
  });
});

function newChatAnswer() {
  return createChatAnswer({ id: 'x', created: 0, model: 'gpt-5.5', stream: true, includeUsage: false });
}
