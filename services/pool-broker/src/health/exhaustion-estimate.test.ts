import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cooldown, healthy, type SeenWindow } from './account-health.ts';
import { exhaustionOf, type Usable } from './quota-forecasts.ts';

const hour = 3_600_000;
const now = Date.parse('2026-11-21T12:00:00Z');

/** A window of five hours that started this many hours ago. */
const fiveHours = (usedFraction: number, hoursAgo: number, more: Partial<SeenWindow> = {}) =>
  window(usedFraction, 5, 5 - hoursAgo, { name: '5h', ...more });
const window = (usedFraction: number, lengthHours: number, resetsInHours: number, more: Partial<SeenWindow> = {}) => ({
  ...{ name: '7d', models: '', usedFraction, seenAtMs: now },
  resetsAtMs: Math.round(now + resetsInHours * hour),
  lengthSeconds: lengthHours * 3_600,
  ...more,
});
const account = (...windows: SeenWindow[]): Usable => ({ ...healthy, windows });
/** An account that takes no requests for this many hours. */
const cooling = (hours: number, ...windows: SeenWindow[]): Usable => ({ windows, cooldowns: [cooldownOf(hours)] });
const cooldownOf = (hours: number): Cooldown => ({
  ...{ model: '', reason: AttemptResult.RATE_LIMITED, givenByProvider: true, repeats: 0 },
  ...{ sinceMs: now, untilMs: now + hours * hour },
});
const hoursUntil = (accounts: readonly Usable[], models = '') => {
  const exhaustion = exhaustionOf(accounts, models, now);
  return 'endsAtMs' in exhaustion ? (exhaustion.endsAtMs - now) / hour : exhaustion.outlook;
};

describe('when a pool will be used up', () => {
  it('is unknown as long as no quota has a length and an end', () => {
    expect(hoursUntil([])).toBe(QuotaOutlook.UNSPECIFIED);
    expect(hoursUntil([account()])).toBe(QuotaOutlook.UNSPECIFIED);
    expect(hoursUntil([account(window(0.9, 0, 4))])).toBe(QuotaOutlook.UNSPECIFIED);
    expect(hoursUntil([account(fiveHours(0.9, 1, { resetsAtMs: undefined }))])).toBe(QuotaOutlook.UNSPECIFIED);
  });

  it('is what is left at the speed at which the window was used so far', () => {
    // Half is used in two hours: the other half lasts two more, and the window three.
    expect(hoursUntil([account(fiveHours(0.5, 2))])).toBeCloseTo(2);
  });

  it('is never when windows reset faster than they are used', () => {
    expect(hoursUntil([account(fiveHours(0.5, 3))])).toBe(QuotaOutlook.LASTS);
    expect(hoursUntil([account(fiveHours(0, 3))])).toBe(QuotaOutlook.LASTS);
  });

  it('counts on every account: load moves to where there is something left', () => {
    // Of 2 windows 1.1 are left, and 0.45 are used per hour.
    expect(hoursUntil([account(fiveHours(0.9, 2)), account(fiveHours(0, 2))])).toBeCloseTo(1.1 / 0.45);
    expect(hoursUntil([account(fiveHours(0.8, 2)), account(fiveHours(0.8, 2))])).toBeCloseTo(0.5);
  });

  it('counts on windows that reset on the way', () => {
    // After a quarter of an hour a whole window is added.
    const fresh = account(fiveHours(1, 4.75));
    const worn = account(fiveHours(0.8, 2));
    const used = 1 / 4.75 + 0.8 / 2;
    expect(hoursUntil([fresh, worn])).toBeCloseTo((1 + 0.2) / used);
  });

  it('does not count on accounts before they are back', () => {
    expect(hoursUntil([account(fiveHours(0.5, 2)), cooling(4, fiveHours(0, 2))])).toBeCloseTo(2);
    const spentForTheWeek = account(fiveHours(0, 2), window(1, 168, 20));
    expect(hoursUntil([account(fiveHours(0.5, 2)), spentForTheWeek])).toBeCloseTo(2);
    expect(exhaustionOf([cooling(1, fiveHours(0.1, 2))], '', now)).toEqual({
      outlook: QuotaOutlook.ENDS,
      endsAtMs: now,
      window: '',
    });
  });

  it('is now when nothing is left', () => {
    expect(hoursUntil([account(fiveHours(1, 2)), account(fiveHours(1.02, 4))])).toBe(0);
  });

  it('is of the window that is used up first', () => {
    const week = window(0.9, 168, 84);
    expect(exhaustionOf([account(fiveHours(0.2, 4), week)], '', now)).toMatchObject({
      outlook: QuotaOutlook.ENDS,
      window: '7d',
    });
    expect(exhaustionOf([account(fiveHours(0.9, 4), week)], '', now)).toMatchObject({
      outlook: QuotaOutlook.ENDS,
      window: '5h',
    });
  });

  it('takes a window that only some accounts have for a limit of these alone', () => {
    const week = window(1, 168, 84);
    expect(exhaustionOf([account(fiveHours(0.1, 4)), account(week)], '', now)).toEqual({ outlook: QuotaOutlook.LASTS });
  });

  it('is estimated apart for families of models', () => {
    const opus = fiveHours(0.5, 2, { name: '5h_opus', models: 'claude-opus-*' });
    const accounts = [account(fiveHours(0.1, 4), opus)];
    expect(hoursUntil(accounts)).toBe(QuotaOutlook.LASTS);
    expect(hoursUntil(accounts, 'claude-opus-*')).toBeCloseTo(2);
  });

  it('says nothing of a window that has just begun', () => {
    expect(hoursUntil([account(fiveHours(0.01, 0.001))])).toBe(QuotaOutlook.LASTS);
  });

  it('is much the same for a thousand accounts as for ten like them, of which each counts', () => {
    // The windows are out of phase, so that few changes coincide.
    const accounts = (count: number, weekUsed: number) =>
      Array.from({ length: count }, (_, n) => {
        const phase = (n * 0.618_033_988_75) % 1;
        return account(fiveHours(0.7 * phase, 5 * phase), window(weekUsed * phase, 168, 168 * (1 - phase)));
      });
    expect(hoursUntil(accounts(10, 0.5))).toBe(QuotaOutlook.LASTS);
    expect(hoursUntil(accounts(1_000, 0.5))).toBe(QuotaOutlook.LASTS);
    const [few, many] = [hoursUntil(accounts(10, 1.9)), hoursUntil(accounts(1_000, 1.9))];
    expect(many).toBeGreaterThan(0.9 * Number(few));
    expect(many).toBeLessThan(1.1 * Number(few));
  });

  it('is never in the past, and never earlier with one account more', () => {
    const anyQuota = fc.record({
      used: fc.double({ min: 0, max: 1.2, noNaN: true }),
      hoursAgo: fc.double({ min: 0, max: 4.99, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(anyQuota, { minLength: 1, maxLength: 8 }), (quotas) => {
        const accounts = quotas.map(({ used, hoursAgo }) => account(fiveHours(used, hoursAgo)));
        const endMs = (some: readonly Usable[]) => {
          const exhaustion = exhaustionOf(some, '', now);
          return 'endsAtMs' in exhaustion ? exhaustion.endsAtMs : Number.POSITIVE_INFINITY;
        };
        expect(endMs(accounts)).toBeGreaterThanOrEqual(now);
        // One more unused account adds capacity and no load.
        const more = endMs([...accounts, account(fiveHours(0, 2))]);
        expect(more).toBeGreaterThanOrEqual(endMs(accounts) - 100);
      }),
    );
  });
});
