import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleSettings } from '../__fixtures__/sample-gateway.ts';
import { type AttemptReport, cancelled, type QuotaWindow } from '../accounts/attempt.ts';
import { type AccountHealth, healthy } from './account-health.ts';
import { applyReport, type ReportedAttempt } from './apply-report.ts';
import { startProbe } from './cooldown.ts';
import { availabilityOf } from './eligibility.ts';

const { NETWORK_ERROR, OVERLOADED, RATE_LIMITED, SUCCEEDED, UNAUTHORIZED } = AttemptResult;

const startMs = 1_000_000;
const settings = { ...sampleSettings, cooldownJitter: 0 };
const rules = { settings, random: () => 0 };
const dayMs = 86_400_000;

interface Happening extends Partial<Omit<ReportedAttempt, 'report'>> {
  readonly nowMs: number;
}

function after(health: AccountHealth, report: Partial<AttemptReport>, happening: Happening): AccountHealth {
  const full = { ...cancelled, result: SUCCEEDED, ...report };
  const rest = {
    leaseId: 'lease',
    credentialId: 'now',
    model: 'claude-opus-5',
    leasedAtMs: happening.nowMs,
    ...happening,
  };
  return applyReport(health, { ...rest, report: full }, rules);
}

const limited = (inMs: number, windows: readonly QuotaWindow[] = [], nowMs = startMs) =>
  after(healthy, { result: RATE_LIMITED, retryAtMs: nowMs + inMs, windows }, { nowMs });

const stateOf = (health: AccountHealth, nowMs: number, model = 'claude-opus-5') => {
  const availability = availabilityOf(health, { model }, nowMs);
  return availability.kind === 'cooling' ? availability.early : availability.kind;
};

const window = (name: string, usedFraction: number, models = ''): QuotaWindow => ({
  name,
  models,
  usedFraction,
  resetsAtMs: startMs + dayMs,
  lengthSeconds: 7 * 86_400,
});

describe('a far reset that its provider named', () => {
  const probeAtMs = startMs + settings.earlyProbeIntervalMs;

  it('may be asked about by one request after a while, and again only after as long', () => {
    const health = limited(dayMs);
    expect(stateOf(health, probeAtMs - 1)).toBe('not_yet');
    expect(stateOf(health, probeAtMs)).toBe('due');
    const probed = startProbe(health, { leaseId: 'p', model: 'claude-opus-5', nowMs: probeAtMs }, rules);
    if (probed === undefined) expect.fail('no probe is due');
    expect(stateOf(probed, probeAtMs)).toBe('not_yet');
    const again = { leaseId: 'q', model: 'claude-opus-5', nowMs: probeAtMs + 1 };
    expect(startProbe(probed, again, rules)).toBeUndefined();
    expect(stateOf(probed, probeAtMs + settings.earlyProbeIntervalMs)).toBe('due');
  });

  it.each(['SUCCEEDED', 'RATE_LIMITED', 'SERVER_ERROR', 'CANCELLED', 'OVERLOADED'] as const)(
    'is over after a probe that %s only if that was served',
    (name) => {
      const result = AttemptResult[name];
      const health = limited(dayMs);
      const probed = startProbe(health, { leaseId: 'p', model: 'claude-opus-5', nowMs: probeAtMs }, rules) ?? health;
      const ended = after(probed, { result }, { nowMs: probeAtMs + 300, leasedAtMs: probeAtMs, leaseId: 'p' });
      expect(stateOf(ended, probeAtMs + 300)).toBe(name === 'SUCCEEDED' ? 'available' : 'not_yet');
    },
  );

  it('is not asked about when it is near', () => {
    const health = limited(settings.earlyProbeIntervalMs);
    expect(stateOf(health, startMs + settings.earlyProbeIntervalMs - 1)).toBe('not_yet');
    expect(stateOf(health, startMs + settings.earlyProbeIntervalMs)).toBe('available');
  });

  it('is over as soon as a request is served that was sent after it, and not by one that was sent before', () => {
    const later = { nowMs: startMs + 2_000, leasedAtMs: startMs + 1 };
    expect(stateOf(after(limited(dayMs), {}, later), startMs + 2_000)).toBe('available');
    expect(stateOf(after(limited(dayMs), {}, { ...later, leasedAtMs: startMs }), startMs + 2_000)).toBe('not_yet');
    expect(stateOf(after(limited(dayMs), {}, { ...later, leasedAtMs: undefined }), startMs + 2_000)).toBe('not_yet');
  });
});

describe('a guess', () => {
  it('lets only requests ask ahead of its end that no other account can serve', () => {
    const refused = after(healthy, { result: UNAUTHORIZED }, { nowMs: startMs });
    expect(stateOf(refused, startMs + settings.lastResortProbeIntervalMs - 1)).toBe('not_yet');
    expect(stateOf(refused, startMs + settings.lastResortProbeIntervalMs)).toBe('last_resort');
  });

  it('doubles while an account is refused, up to an hour', () => {
    let health = healthy;
    let nowMs = startMs;
    const minutes = Array.from({ length: 5 }, () => {
      health = after(health, { result: UNAUTHORIZED }, { nowMs });
      const availability = availabilityOf(health, { model: 'm' }, nowMs);
      const untilMs = availability.kind === 'cooling' ? availability.cooldown.untilMs : nowMs;
      const guess = (untilMs - nowMs) / 60_000;
      nowMs = untilMs + 1;
      return guess;
    });
    expect(minutes).toEqual([10, 20, 40, 60, 60]);
  });

  it('of a limit is over when its probe has not failed soon; of a refusal another probe follows', () => {
    const probedAfter = (result: AttemptResult) => {
      const cooling = after(healthy, { result }, { nowMs: startMs });
      const overMs = startMs + (result === UNAUTHORIZED ? 600_000 : settings.rateLimitCooldownMs);
      const probed = startProbe(cooling, { leaseId: 'p', model: 'm', nowMs: overMs }, rules) ?? expect.fail();
      return (waitMs: number) => availabilityOf(probed, { model: 'm' }, overMs + waitMs).kind;
    };
    expect(probedAfter(RATE_LIMITED)(settings.limitProbeQuietMs - 1)).toBe('probing');
    expect(probedAfter(RATE_LIMITED)(settings.limitProbeQuietMs)).toBe('available');
    expect(probedAfter(UNAUTHORIZED)(settings.limitProbeQuietMs)).toBe('probing');
    expect(probedAfter(UNAUTHORIZED)(settings.probeTimeoutMs)).toBe('probe_due');
  });

  it('of a limit doubles when its probe is refused late', () => {
    const cooling = after(healthy, { result: RATE_LIMITED }, { nowMs: startMs });
    const overMs = startMs + settings.rateLimitCooldownMs;
    const probed = startProbe(cooling, { leaseId: 'p', model: 'claude-opus-5', nowMs: overMs }, rules) ?? expect.fail();
    const lateMs = overMs + 60_000;
    const again = after(probed, { result: RATE_LIMITED }, { nowMs: lateMs, leasedAtMs: overMs, leaseId: 'p' });
    const availability = availabilityOf(again, { model: 'claude-opus-5' }, lateMs);
    expect(availability).toMatchObject({ cooldown: { untilMs: lateMs + 2 * settings.rateLimitCooldownMs } });
  });
});

describe('the windows that a 429 reports', () => {
  const limitedBy = (windows: readonly QuotaWindow[], modelScoped = false) =>
    after(healthy, { result: RATE_LIMITED, modelScoped, windows }, { nowMs: startMs });

  it.each([
    ['of the account', [window('5h', 1)], false, { opus: 'not_yet', haiku: 'not_yet' }],
    ['of a family', [window('7d_opus', 1, '*opus*'), window('5h', 0.5)], true, { opus: 'not_yet', haiku: 'available' }],
    ['of a family, not marked so', [window('7d_opus', 1, '*opus*')], false, { opus: 'not_yet', haiku: 'available' }],
    ['of another family', [window('7d_fable', 1, '*fable*')], false, { opus: 'not_yet', haiku: 'not_yet' }],
    ['of a family and of the account', [window('7d_opus', 1, '*opus*'), window('5h', 1)], false, { haiku: 'not_yet' }],
  ] as const)('decide what is limited when one is used up that is %s', (_, windows, modelScoped, expected) => {
    const health = limitedBy(windows, modelScoped);
    for (const [family, state] of Object.entries(expected)) {
      expect([family, stateOf(health, startMs, `claude-${family}-4-5`)]).toEqual([family, state]);
    }
  });

  it('name the reset when nothing else does, the last of several', () => {
    const health = limitedBy([{ ...window('5h', 1), resetsAtMs: startMs + 5_000 }, window('7d', 1)]);
    expect(health.cooldowns).toMatchObject([{ untilMs: startMs + dayMs, givenByProvider: true, window: '7d' }]);
  });

  it('end the cooldown as soon as an answer says that they have room, whichever model it is for', () => {
    const health = limitedBy([window('7d_opus', 1, '*opus*')], true);
    const haiku = { nowMs: startMs + 9_000, leasedAtMs: startMs + 5_000, model: 'claude-haiku-4-5' };
    const state = (...windows: QuotaWindow[]) => stateOf(after(health, { windows }, haiku), haiku.nowMs);
    expect(state(window('7d_opus', 0.1, '*opus*'))).toBe('available');
    expect(state(window('7d_opus', 1, '*opus*'))).toBe('not_yet');
    expect(state(window('5h', 0.1))).toBe('not_yet');
    const before = { ...haiku, leasedAtMs: startMs };
    expect(stateOf(after(health, { windows: [window('7d_opus', 0.1, '*opus*')] }, before), haiku.nowMs)).toBe(
      'not_yet',
    );
  });
});

describe('faults of the provider and of the network', () => {
  it('never count against an account, however many', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(OVERLOADED, NETWORK_ERROR)), (results) => {
        let health = healthy;
        for (const [index, result] of results.entries()) health = after(health, { result }, { nowMs: startMs + index });
        const { lastError, ...counted } = health;
        expect(lastError?.inARow ?? 0).toBe(results.length);
        expect(counted).toEqual(healthy);
      }),
    );
  });
});
