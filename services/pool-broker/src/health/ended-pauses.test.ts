import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AccountHealth, accountHealthSchema, healthy, mergeHealth, withoutPauses } from './account-health.ts';
import { availabilityOf, headroomOf } from './eligibility.ts';

const { FEATURE_UNAVAILABLE, MODEL_UNAVAILABLE, RATE_LIMITED, REFUSED, SERVER_ERROR, TIMEOUT, UNAUTHORIZED } =
  AttemptResult;

const nowMs = Date.UTC(2026, 10, 20, 12);
const reasons = [RATE_LIMITED, UNAUTHORIZED, SERVER_ERROR, TIMEOUT, MODEL_UNAVAILABLE, FEATURE_UNAVAILABLE] as const;

const anyCooldown = fc.record({
  model: fc.constantFrom('', 'm', 'm-*'),
  feature: fc.constantFrom(undefined, 'context-1m-*'),
  reason: fc.constantFrom(...reasons),
  sinceMs: fc.constant(nowMs - 1_000),
  untilMs: fc.integer({ min: nowMs, max: nowMs + 30 * 86_400_000 }),
  givenByProvider: fc.boolean(),
  repeats: fc.integer({ min: 0, max: 9 }),
  window: fc.constantFrom(undefined, '5h'),
});

const anyPaused: fc.Arbitrary<AccountHealth> = fc.record({
  cooldowns: fc.array(anyCooldown, { minLength: 1, maxLength: 4 }),
  windows: fc.array(
    fc.record({
      name: fc.constantFrom('5h', '7d'),
      models: fc.constantFrom('', 'm'),
      usedFraction: fc.constantFrom(0.4, 1, 1.2),
      ...{ resetsAtMs: fc.constant(nowMs + 600_000), lengthSeconds: fc.constant(18_000) },
      seenAtMs: fc.constant(nowMs - 1_000),
    }),
    { maxLength: 3 },
  ),
  errorAverage: fc.constantFrom(0, 0.9),
  errorsAtMs: fc.constant(nowMs - 1_000),
  problem: fc.constantFrom(undefined, {
    kind: AccountProblem.ACCOUNT_DISABLED,
    sinceMs: nowMs - 1_000,
    credentialId: 'c',
  } as const),
  lastError: fc.constantFrom(undefined, {
    ...{ result: REFUSED, upstreamStatus: 403, cause: '' },
    atMs: nowMs - 1_000,
    inARow: 3,
  } as const),
});

const wanted = { model: 'm', features: ['context-1m-2025-08-07'] };

describe('an operator who enables an account', () => {
  it('ends every pause, whatever its cause and scope, and whether the provider named its end', () => {
    fc.assert(
      fc.property(anyPaused, (paused) => {
        const enabled = withoutPauses(paused, nowMs);
        expect(availabilityOf(enabled, wanted, nowMs)).toEqual({ kind: 'available' });
        expect(headroomOf(enabled, 'm', nowMs)).toBeGreaterThan(0);
        const { problem, lastError, errorAverage } = enabled;
        expect([problem, lastError, errorAverage]).toEqual([undefined, undefined, 0]);
        expect(accountHealthSchema.parse(JSON.parse(JSON.stringify(enabled)))).toEqual(
          JSON.parse(JSON.stringify(enabled)),
        );
      }),
    );
  });

  it('ends them although a replica that was cut off meanwhile still knows them', () => {
    fc.assert(
      fc.property(anyPaused, fc.boolean(), (paused, isFirst) => {
        const enabled = withoutPauses(paused, nowMs);
        const merged = isFirst ? mergeHealth(enabled, paused) : mergeHealth(paused, enabled);
        expect(availabilityOf(merged, wanted, nowMs)).toEqual({ kind: 'available' });
        expect([merged.problem, merged.lastError]).toEqual([undefined, undefined]);
      }),
    );
  });

  it('does not end what is reported later', () => {
    const cooldown = {
      model: '',
      reason: RATE_LIMITED,
      sinceMs: nowMs + 1,
      untilMs: nowMs + 60_000,
    } as const;
    const later = { ...healthy, cooldowns: [{ ...cooldown, givenByProvider: true, repeats: 0 }] };
    const merged = mergeHealth(later, withoutPauses(healthy, nowMs));
    expect(availabilityOf(merged, wanted, nowMs + 2)).toMatchObject({ kind: 'cooling' });
  });
});
