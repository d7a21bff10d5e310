import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleSettings } from '../__fixtures__/sample-gateway.ts';
import { cancelled } from '../accounts/attempt.ts';
import {
  applyToPool,
  noIncidents,
  type PoolAttempt,
  type PoolHealth,
  poolAvailabilityOf,
  startPoolProbe,
} from './pool-health.ts';

const { CANCELLED, NETWORK_ERROR, OVERLOADED, RATE_LIMITED, REJECTED, SERVER_ERROR, SUCCEEDED, TIMEOUT, UNAUTHORIZED } =
  AttemptResult;

const startMs = 1_000_000;
const settings = { ...sampleSettings, cooldownJitter: 0 };
const rules = { settings, random: () => 0 };
const confirmMs = settings.overloadConfirmMs;

interface Happening extends Partial<Omit<PoolAttempt, 'report'>> {
  readonly nowMs: number;
  readonly retryAtMs?: number;
}

function after(health: PoolHealth, result: AttemptResult, { retryAtMs, ...happening }: Happening): PoolHealth {
  const report = { ...cancelled, result, retryAtMs };
  const rest = {
    leaseId: 'l',
    credentialId: 'now',
    model: 'm',
    accountId: 'p/0',
    accounts: 3,
    oldestUnderWayMs: undefined,
  };
  return applyToPool(health, { ...rest, leasedAtMs: happening.nowMs - 100, ...happening, report }, rules);
}

/** Consecutive failures of one account, one every 100 ms. */
function failing(result: AttemptResult, forMs: number, rest: Partial<Happening> & { accountsMet?: number } = {}) {
  const { accountsMet = 3, ...happening } = rest;
  let health = noIncidents;
  for (let n = 0; n * 100 <= forMs; n++) {
    health = after(health, result, { nowMs: startMs + n * 100, accountId: `p/${n % accountsMet}`, ...happening });
  }
  return health;
}

const stateAt = (health: PoolHealth, nowMs: number, model = 'm') => poolAvailabilityOf(health, model, nowMs).kind;
const pausedUntil = (health: PoolHealth, nowMs: number) => {
  const state = poolAvailabilityOf(health, 'm', nowMs);
  return state.kind === 'cooling' ? state.cooldown.untilMs : undefined;
};

describe('an overloaded provider', () => {
  it('pauses the pool shortly when every account has met it for a short time', () => {
    expect(stateAt(failing(OVERLOADED, confirmMs - 100), startMs + confirmMs)).toBe('available');
    const health = failing(OVERLOADED, confirmMs);
    expect(pausedUntil(health, startMs + confirmMs)).toBe(startMs + confirmMs + settings.poolPauseMs);
  });

  it('does not for another model, and not while requests get through', () => {
    const nowMs = startMs + confirmMs;
    expect(stateAt(failing(OVERLOADED, confirmMs), nowMs, 'other')).toBe('available');
    const underWay = failing(OVERLOADED, confirmMs, { oldestUnderWayMs: startMs });
    expect(stateAt(underWay, nowMs)).toBe('available');
    const served = after(failing(OVERLOADED, confirmMs - 100), SUCCEEDED, {
      nowMs,
      leasedAtMs: nowMs - 50,
    });
    expect(stateAt(after(served, OVERLOADED, { nowMs: nowMs + 1 }), nowMs + 1)).toBe('available');
  });

  it('does not for what may be bad luck: few failures, or few accounts unless it is very often', () => {
    const nowMs = startMs + confirmMs;
    let rare = noIncidents;
    for (let n = 0; n < 7; n++) rare = after(rare, OVERLOADED, { nowMs: startMs + n * 900, accountId: `p/${n}` });
    expect(stateAt(rare, startMs + 6_300)).toBe('available');
    const oneOfThree = { accountsMet: 1, accounts: 3 };
    expect(stateAt(failing(OVERLOADED, confirmMs, oneOfThree), nowMs)).toBe('available');
    expect(stateAt(failing(OVERLOADED, confirmMs + 100, oneOfThree), nowMs + 100)).toBe('cooling');
  });

  it('is taken for a new one after a while without failures', () => {
    const health = failing(OVERLOADED, confirmMs - 100);
    const laterMs = startMs + confirmMs + settings.poolFailureWindowMs;
    expect(stateAt(after(health, OVERLOADED, { nowMs: laterMs }), laterMs)).toBe('available');
  });

  it('pauses as long as it asks for, within bounds', () => {
    const pausedFor = (retryInMs: number) => {
      const retryAtMs = startMs + confirmMs + retryInMs;
      const nowMs = startMs + confirmMs;
      return (pausedUntil(failing(OVERLOADED, confirmMs, { retryAtMs }), nowMs) ?? nowMs) - nowMs;
    };
    expect(pausedFor(100)).toBe(settings.poolPauseMs);
    expect(pausedFor(7_000)).toBe(7_000);
    expect(pausedFor(9e9)).toBe(settings.poolPauseMaxMs);
  });

  const overMs = startMs + confirmMs + settings.poolPauseMs;
  const probing = (health: PoolHealth, nowMs: number) =>
    startPoolProbe(health, { leaseId: 'probe', model: 'm', nowMs }, rules);

  it('is found out about by one request after the pause', () => {
    const health = failing(OVERLOADED, confirmMs);
    expect(probing(health, overMs - 1)).toBeUndefined();
    const probed = probing(health, overMs) ?? expect.fail('no probe is due');
    expect(stateAt(probed, overMs)).toBe('probing');
    expect(probing(probed, overMs)).toBeUndefined();
    const ended = (result: AttemptResult) =>
      stateAt(after(probed, result, { nowMs: overMs + 100, leasedAtMs: overMs, leaseId: 'probe' }), overMs + 100);
    expect([SUCCEEDED, OVERLOADED, CANCELLED, TIMEOUT].map((result) => ended(result as AttemptResult))).toEqual([
      'available',
      'cooling',
      'probe_due',
      'probe_due',
    ]);
    expect(stateAt(probed, overMs + settings.poolProbeQuietMs)).toBe('available');
  });

  it('pauses twice as long each time, up to half a minute', () => {
    let health = failing(OVERLOADED, confirmMs);
    let nowMs = overMs;
    const pauses = Array.from({ length: 6 }, () => {
      health = probing(health, nowMs) ?? expect.fail('no probe is due');
      health = after(health, OVERLOADED, { nowMs, leasedAtMs: nowMs, leaseId: 'probe' });
      const pauseMs = (pausedUntil(health, nowMs) ?? nowMs) - nowMs;
      nowMs += pauseMs;
      return pauseMs / 1_000;
    });
    expect(pauses).toEqual([4, 8, 16, 30, 30, 30]);
  });

  it('is one event for requests that were under way together', () => {
    const health = failing(OVERLOADED, confirmMs);
    const late = after(health, OVERLOADED, { nowMs: overMs - 1, leasedAtMs: startMs });
    expect(pausedUntil(late, overMs - 1)).toBe(overMs);
  });
});

describe('a network that is down', () => {
  it('pauses the pool for every model, once it has lasted, and any answer ends it', () => {
    expect(stateAt(failing(NETWORK_ERROR, 2_000), startMs + 2_000)).toBe('available');
    const nowMs = startMs + settings.networkConfirmMs;
    const health = failing(NETWORK_ERROR, settings.networkConfirmMs);
    expect(['m', 'other'].map((model) => stateAt(health, nowMs, model))).toEqual(['cooling', 'cooling']);
    for (const result of [SUCCEEDED, RATE_LIMITED, UNAUTHORIZED, REJECTED, SERVER_ERROR] as const) {
      expect(stateAt(after(health, result, { nowMs: nowMs + 9, leasedAtMs: nowMs + 1 }), nowMs + 9)).toBe('available');
      expect(stateAt(after(health, result, { nowMs: nowMs + 9, leasedAtMs: nowMs - 1 }), nowMs + 9)).toBe('cooling');
    }
  });
});

describe('any history of a pool', () => {
  it('never pauses it for longer than the settings allow, and stays small', () => {
    const anyAttempt = fc.record({
      result: fc.constantFrom<AttemptResult>(SUCCEEDED, OVERLOADED, NETWORK_ERROR, TIMEOUT, CANCELLED),
      model: fc.constantFrom(...Array.from({ length: 30 }, (_, n) => `m${n % 20}`)),
      accountId: fc.constantFrom('p/0', 'p/1', 'p/2'),
      waitMs: fc.integer({ min: 0, max: 5_000 }),
      ageMs: fc.integer({ min: 0, max: 20_000 }),
      retryInMs: fc.integer({ min: 0, max: 1e9 }),
    });
    fc.assert(
      fc.property(fc.array(anyAttempt, { maxLength: 200, size: 'max' }), (attempts) => {
        let health = noIncidents;
        let nowMs = startMs;
        for (const { result, model, accountId, waitMs, ageMs, retryInMs } of attempts) {
          nowMs += waitMs;
          const times = { nowMs, leasedAtMs: nowMs - ageMs, retryAtMs: nowMs + retryInMs };
          health = after(health, result, { ...times, model, accountId });
          const state = poolAvailabilityOf(health, model, nowMs);
          if (state.kind === 'cooling')
            expect(state.cooldown.untilMs - nowMs).toBeLessThanOrEqual(settings.poolPauseMaxMs);
          if (result !== OVERLOADED && result !== NETWORK_ERROR) expect(health.incidents.length).toBeLessThan(17);
        }
        expect(health.incidents.every(({ failures }) => failures.length <= 12)).toBe(true);
      }),
    );
  });
});
