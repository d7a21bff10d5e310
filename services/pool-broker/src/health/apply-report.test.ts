import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleSettings as settings } from '../__fixtures__/sample-gateway.ts';
import { type AttemptReport, cancelled } from '../accounts/attempt.ts';
import { type AccountHealth, healthy, mergeHealth } from './account-health.ts';
import { applyReport } from './apply-report.ts';
import { startProbe } from './cooldown.ts';
import { availabilityOf } from './eligibility.ts';

const {
  CANCELLED,
  FEATURE_UNAVAILABLE,
  MODEL_UNAVAILABLE,
  NETWORK_ERROR,
  OVERLOADED,
  RATE_LIMITED,
  REJECTED,
  SERVER_ERROR,
  SUCCEEDED,
  TIMEOUT,
  UNAUTHORIZED,
} = AttemptResult;

const startMs = 1_000_000;
const rules = { settings: { ...settings, cooldownJitter: 0 }, random: () => 0.5 };

interface Happening {
  readonly nowMs: number;
  readonly model?: string;
  readonly leaseId?: string;
  readonly leasedAtMs?: number;
}

function after(health: AccountHealth, report: Partial<AttemptReport>, happening: Happening): AccountHealth {
  const { nowMs, model = 'm', leaseId = 'lease', leasedAtMs = nowMs } = happening;
  const full = { ...cancelled, result: SUCCEEDED, ...report };
  return applyReport(health, { leaseId, model, leasedAtMs, credentialId: 'now', nowMs, report: full }, rules);
}

const untilOf = (health: AccountHealth, nowMs: number, model = 'm') => {
  const availability = availabilityOf(health, { model }, nowMs);
  return availability.kind === 'cooling' ? availability.cooldown.untilMs : undefined;
};

function probing(health: AccountHealth, nowMs: number, leaseId = 'probe'): AccountHealth {
  return startProbe(health, { model: 'm', nowMs, leaseId }, rules) ?? expect.fail('no probe is due');
}

describe('a 429 with a reset', () => {
  it('cools the account exactly until then, and needs no probe after it', () => {
    const health = after(healthy, { result: RATE_LIMITED, retryAtMs: startMs + 42_000 }, { nowMs: startMs });
    expect(untilOf(health, startMs)).toBe(startMs + 42_000);
    expect(untilOf(health, startMs + 41_999)).toBe(startMs + 42_000);
    expect(availabilityOf(health, { model: 'm' }, startMs + 42_000).kind).toBe('available');
  });

  it('is not believed further ahead than the settings allow', () => {
    const health = after(healthy, { result: RATE_LIMITED, retryAtMs: startMs * 1e6 }, { nowMs: startMs });
    expect(untilOf(health, startMs)).toBe(startMs + settings.givenCooldownMaxMs);
  });

  it('in the past counts as a 429 without one', () => {
    const health = after(healthy, { result: RATE_LIMITED, retryAtMs: startMs - 1 }, { nowMs: startMs });
    expect(untilOf(health, startMs)).toBe(startMs + settings.rateLimitCooldownMs);
  });

  it('is not taken back by a success that began before it', () => {
    const limited = after(healthy, { result: RATE_LIMITED, retryAtMs: startMs + 42_000 }, { nowMs: startMs });
    const health = after(limited, {}, { nowMs: startMs + 10, leasedAtMs: startMs - 5_000 });
    expect(untilOf(health, startMs + 10)).toBe(startMs + 42_000);
  });

  it('for one model leaves the others free', () => {
    const report = { result: RATE_LIMITED, retryAtMs: startMs + 42_000, modelScoped: true } as const;
    const health = after(healthy, report, { nowMs: startMs, model: 'opus' });
    expect(untilOf(health, startMs, 'opus')).toBe(startMs + 42_000);
    expect(availabilityOf(health, { model: 'haiku' }, startMs).kind).toBe('available');
  });
});

describe('a 429 without a reset', () => {
  const limit = { result: RATE_LIMITED } as const;

  it('cools for a guess that doubles while probes fail, up to a maximum', () => {
    let health = healthy;
    let nowMs = startMs;
    const guesses = Array.from({ length: 9 }, () => {
      health = after(health, limit, { nowMs, leaseId: 'probe' });
      const untilMs = untilOf(health, nowMs) ?? 0;
      const guess = untilMs - nowMs;
      nowMs = untilMs;
      health = probing(health, nowMs);
      return guess / 1_000;
    });
    expect(guesses).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600]);
  });

  it('is stretched at random, never shortened', () => {
    const random = { ...rules, settings };
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (value) => {
        const attempt = { leaseId: 'l', credentialId: 'now', model: 'm', leasedAtMs: startMs, nowMs: startMs };
        const report = { ...cancelled, result: RATE_LIMITED };
        const health = applyReport(healthy, { ...attempt, report }, { ...random, random: () => value });
        const guess = (untilOf(health, startMs) ?? 0) - startMs;
        expect(guess).toBeGreaterThanOrEqual(5_000);
        expect(guess).toBeLessThanOrEqual(6_000);
      }),
    );
  });

  it('lets one request find out when it is over, and no second one beside it', () => {
    const limited = after(healthy, limit, { nowMs: startMs });
    const overMs = startMs + settings.rateLimitCooldownMs;
    expect(availabilityOf(limited, { model: 'm' }, overMs).kind).toBe('probe_due');
    const probed = probing(limited, overMs);
    expect(availabilityOf(probed, { model: 'm' }, overMs).kind).toBe('probing');
    expect(startProbe(probed, { model: 'm', nowMs: overMs, leaseId: 'x' }, rules)).toBeUndefined();
  });

  it('is forgotten when the probe succeeds', () => {
    const overMs = startMs + settings.rateLimitCooldownMs;
    const probed = probing(after(healthy, limit, { nowMs: startMs }), overMs);
    const back = after(probed, {}, { nowMs: overMs + 10, leaseId: 'probe' });
    expect(availabilityOf(back, { model: 'm' }, overMs + 10).kind).toBe('available');
    const again = after(back, limit, { nowMs: overMs + 20 });
    expect(untilOf(again, overMs + 20)).toBe(overMs + 20 + settings.rateLimitCooldownMs);
  });

  it.each(['REJECTED', 'CANCELLED'] as const)('is still to be found out when the probe was %s', (result) => {
    const overMs = startMs + settings.rateLimitCooldownMs;
    const probed = probing(after(healthy, limit, { nowMs: startMs }), overMs);
    const health = after(probed, { result: AttemptResult[result] }, { nowMs: overMs, leaseId: 'probe' });
    expect(availabilityOf(health, { model: 'm' }, overMs).kind).toBe('probe_due');
  });

  it('counts once for requests that were under way together', () => {
    const first = after(healthy, limit, { nowMs: startMs, leasedAtMs: startMs - 100 });
    const second = after(first, limit, { nowMs: startMs + 50, leasedAtMs: startMs - 90 });
    expect(second).toBe(first);
  });
});

describe('errors of the provider', () => {
  const results = ['OVERLOADED', 'SERVER_ERROR', 'NETWORK_ERROR', 'TIMEOUT'] as const;

  it.each(results)('do not pause an account for a single %s', (result) => {
    const health = after(healthy, { result: AttemptResult[result] }, { nowMs: startMs });
    expect(availabilityOf(health, { model: 'm' }, startMs).kind).toBe('available');
  });

  it('pause it shortly when they repeat, twice as long when the probe fails too', () => {
    let health = healthy;
    for (let n = 0; n < 3; n++) health = after(health, { result: SERVER_ERROR }, { nowMs: startMs + n });
    const overMs = untilOf(health, startMs + 2) ?? 0;
    expect(overMs).toBe(startMs + 2 + settings.errorCooldownMs);
    const again = after(probing(health, overMs), { result: TIMEOUT }, { nowMs: overMs, leaseId: 'probe' });
    expect(untilOf(again, overMs)).toBe(overMs + 2 * settings.errorCooldownMs);
  });

  it('never pause it when its answers had begun, and are counted', () => {
    let health = healthy;
    for (const result of [SERVER_ERROR, TIMEOUT] as const) {
      for (let n = 0; n < 10; n++) health = after(health, { result, answerBegan: true }, { nowMs: startMs });
      expect(availabilityOf(health, { model: 'm' }, startMs).kind).toBe('available');
    }
    expect(health.errorAverage).toBeGreaterThan(0.9);
    const paused = after(health, { result: SERVER_ERROR }, { nowMs: startMs });
    expect(availabilityOf(paused, { model: 'm' }, startMs).kind).toBe('cooling');
  });

  it('do not pause it when they come once in a while', () => {
    let health = healthy;
    for (let n = 0; n < 50; n++) {
      const nowMs = startMs + n * 1_000;
      health = after(health, { result: n % 4 === 0 ? SERVER_ERROR : SUCCEEDED }, { nowMs });
      expect(availabilityOf(health, { model: 'm' }, nowMs).kind).toBe('available');
    }
  });

  it('are forgotten with time', () => {
    let health = healthy;
    for (let n = 0; n < 20; n++) {
      const nowMs = startMs + n * 180_000;
      health = after(health, { result: SERVER_ERROR }, { nowMs });
      expect(availabilityOf(health, { model: 'm' }, nowMs).kind).toBe('available');
    }
  });
});

describe('a refused account', () => {
  it('rests for ten minutes, and is not called limited', () => {
    const health = after(healthy, { result: UNAUTHORIZED }, { nowMs: startMs });
    expect(availabilityOf(health, { model: 'm' }, startMs)).toMatchObject({ kind: 'cooling', limitOnly: false });
    expect(untilOf(health, startMs)).toBe(startMs + 600_000);
    expect(availabilityOf(health, { model: 'm' }, startMs + 600_000).kind).toBe('probe_due');
  });
});

const anyHistory = fc.array(
  fc.record({
    result: fc.constantFrom<AttemptResult>(
      SUCCEEDED,
      RATE_LIMITED,
      UNAUTHORIZED,
      OVERLOADED,
      SERVER_ERROR,
      NETWORK_ERROR,
      TIMEOUT,
      REJECTED,
      CANCELLED,
    ),
    retryInMs: fc.option(fc.integer({ min: -10_000, max: 10_000_000 }), { nil: undefined }),
    modelScoped: fc.boolean(),
    model: fc.constantFrom('m', 'n'),
    waitMs: fc.integer({ min: 0, max: 100_000 }),
    ageMs: fc.integer({ min: 0, max: 100_000 }),
  }),
);

describe('any history of an account', () => {
  it('shortens no reset that the provider named, unless by serving what was sent after it', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        let health = healthy;
        let nowMs = startMs;
        const promised = new Map<string, { readonly untilMs: number; readonly namedAtMs: number }>();
        for (const { result, retryInMs, modelScoped, model, waitMs, ageMs } of history) {
          nowMs += waitMs;
          const retryAtMs = retryInMs === undefined ? undefined : nowMs + retryInMs;
          health = after(health, { result, retryAtMs, modelScoped }, { nowMs, model, leasedAtMs: nowMs - ageMs });
          if (result === RATE_LIMITED && retryAtMs !== undefined && retryAtMs > nowMs) {
            const scope = modelScoped ? model : '';
            const untilMs = Math.max(promised.get(scope)?.untilMs ?? 0, retryAtMs);
            promised.set(scope, { untilMs, namedAtMs: nowMs });
          }
          for (const scope of result === SUCCEEDED ? ['', model] : []) {
            if (nowMs - ageMs > (promised.get(scope)?.namedAtMs ?? nowMs)) promised.delete(scope);
          }
          for (const name of ['m', 'n']) {
            const until = Math.max(promised.get('')?.untilMs ?? 0, promised.get(name)?.untilMs ?? 0);
            if (until > nowMs) expect(untilOf(health, nowMs, name)).toBeGreaterThanOrEqual(until);
          }
        }
      }),
    );
  });

  it('stays small', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        let health = healthy;
        let nowMs = startMs;
        for (const { result, modelScoped, model, waitMs } of history) {
          nowMs += waitMs;
          health = after(health, { result, modelScoped }, { nowMs, model });
        }
        expect(health.cooldowns.length).toBeLessThanOrEqual(5);
        expect(health.errorAverage).toBeGreaterThanOrEqual(0);
        expect(health.errorAverage).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('the last error of an account', () => {
  const cause = 'connection refused by 10.0.0.7:443';
  const refused = { result: NETWORK_ERROR, upstreamStatus: 0, cause } as const;
  const failed = (times: number) => {
    let health = healthy;
    for (let n = 1; n <= times; n++) health = after(health, refused, { nowMs: startMs + n });
    return health;
  };

  it('says why and when it failed, and how many times in a row', () => {
    expect(failed(7).lastError).toEqual({ ...refused, atMs: startMs + 7, inARow: 7 });
    const broken = after(failed(7), { result: SERVER_ERROR, upstreamStatus: 500 }, { nowMs: startMs + 8 });
    expect(broken.lastError).toMatchObject({ result: SERVER_ERROR, upstreamStatus: 500, inARow: 8 });
  });

  it.each(['SUCCEEDED', 'REJECTED', 'RATE_LIMITED', 'MODEL_UNAVAILABLE'] as const)(
    'is kept, but is no longer the latest, once the provider answers: %s',
    (result) => {
      const health = after(failed(2), { result: AttemptResult[result] }, { nowMs: startMs + 9 });
      expect(health.lastError).toEqual({ ...refused, atMs: startMs + 2, inARow: 0 });
    },
  );

  it('is not touched by an attempt that was cancelled, nor by a success when there was none', () => {
    expect(after(failed(2), { result: CANCELLED }, { nowMs: startMs + 9 }).lastError?.inARow).toBe(2);
    expect(after(healthy, {}, { nowMs: startMs })).toBe(healthy);
  });

  it('is the later one of two memories', () => {
    expect(mergeHealth(failed(2), failed(3)).lastError?.inARow).toBe(3);
    expect(mergeHealth(failed(3), healthy).lastError?.inARow).toBe(3);
  });
});

describe('two memories of an account', () => {
  it('come to the longer cooldown of each kind', () => {
    const limited = after(healthy, { result: RATE_LIMITED, retryAtMs: startMs + 9_000 }, { nowMs: startMs });
    const longer = after(healthy, { result: RATE_LIMITED, retryAtMs: startMs + 10_000 }, { nowMs: startMs });
    const refused = after(limited, { result: UNAUTHORIZED }, { nowMs: startMs + 1 });
    const merged = mergeHealth(refused, longer);
    expect(merged.cooldowns.map(({ reason, untilMs }) => [reason, untilMs - startMs])).toEqual([
      [RATE_LIMITED, 10_000],
      [UNAUTHORIZED, 600_001],
    ]);
  });
});

describe('what an account lacks', () => {
  const lack = (health: AccountHealth, nowMs: number, leaseId = 'lease') =>
    after(health, { result: MODEL_UNAVAILABLE }, { nowMs, leaseId });

  it('keeps requests for that model away from it, and no others', () => {
    const health = lack(healthy, startMs);
    expect(untilOf(health, startMs)).toBe(startMs + settings.lackCooldownMs);
    for (const model of ['other', '']) expect(availabilityOf(health, { model }, startMs).kind).toBe('available');
    expect(health.errorAverage).toBe(0);
  });

  it('keeps requests for that feature away from it, and no others', () => {
    const report = { result: FEATURE_UNAVAILABLE, feature: 'context-1m-*' } as const;
    const health = after(healthy, report, { nowMs: startMs });
    const kindFor = (...features: string[]) => availabilityOf(health, { model: 'm', features }, startMs).kind;
    expect(kindFor('a', 'context-1m-2025-08-07')).toBe('cooling');
    expect(kindFor('context-2m-2025-08-07')).toBe('available');
    expect(kindFor()).toBe('available');
    expect(after(healthy, { result: FEATURE_UNAVAILABLE }, { nowMs: startMs })).toBe(healthy);
  });

  it('is asked again by one request, and after twice the time when that fails', () => {
    const overMs = startMs + settings.lackCooldownMs;
    const due = lack(healthy, startMs);
    expect(availabilityOf(due, { model: 'm' }, overMs).kind).toBe('probe_due');
    const probed = probing(due, overMs);
    expect(availabilityOf(probed, { model: 'm' }, overMs)).toMatchObject({ kind: 'probing' });
    const again = lack(probed, overMs + 5, 'probe');
    expect(untilOf(again, overMs + 5)).toBe(overMs + 5 + 2 * settings.lackCooldownMs);
    expect(after(probed, {}, { nowMs: overMs + 5, leaseId: 'probe' }).cooldowns).toEqual([]);
  });

  it('is not asked for ahead of time, since what is lacked does not come back so soon', () => {
    const health = lack(healthy, startMs);
    expect(availabilityOf(health, { model: 'm' }, startMs + settings.lackCooldownMs - 1)).toMatchObject({
      early: 'not_yet',
    });
  });

  it('is forgotten when the account serves it all the same', () => {
    const health = lack(healthy, startMs);
    expect(after(health, {}, { nowMs: startMs + 20, leasedAtMs: startMs + 10 }).cooldowns).toEqual([]);
  });

  it('hides no limit and no refusal of the account', () => {
    const health = after(lack(healthy, startMs), { result: UNAUTHORIZED }, { nowMs: startMs });
    expect(availabilityOf(health, { model: 'other' }, startMs).kind).toBe('cooling');
    expect(availabilityOf(health, { model: 'm' }, startMs)).toMatchObject({
      lack: MODEL_UNAVAILABLE,
      lackOnly: false,
    });
  });

  it('is remembered of so many models, whatever names clients make up', () => {
    const names = Array.from({ length: 500 }, (_, at) => `made-up-${at}`);
    const made = names.reduce(
      (health, model, at) => after(health, { result: MODEL_UNAVAILABLE }, { nowMs: startMs + at, model }),
      after(healthy, { result: RATE_LIMITED }, { nowMs: startMs }),
    );
    expect(made.cooldowns).toHaveLength(51);
    expect(untilOf(made, startMs + 500, 'made-up-499')).toBeDefined();
  });
});
