import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RetryBudget } from './retry-budget.ts';

function budgetOf({ share = 0.1, floorPerSecond = 1 }) {
  const rules = { retryBudgetShare: share, retryBudgetFloorPerSecond: floorPerSecond };
  const budget = new RetryBudget();
  const spendAll = (nowMs = 0) => {
    let spent = 0;
    while (budget.takeRetry(rules, nowMs)) spent += 1;
    return spent;
  };
  return { budget, spendAll };
}

describe('the retry budget', () => {
  it('lets a quiet gateway have its floor', () => {
    const { spendAll } = budgetOf({ floorPerSecond: 1 });
    expect(spendAll()).toBe(10);
    expect(spendAll(9_999)).toBe(0);
    expect(spendAll(10_000)).toBe(10);
  });

  it('remembers what was spent when its rules change, which hold at once', () => {
    const { budget, spendAll } = budgetOf({ floorPerSecond: 1 });
    expect(spendAll()).toBe(10);
    expect(budget.takeRetry({ retryBudgetShare: 0, retryBudgetFloorPerSecond: 0 }, 0)).toBe(false);
    const raised = { retryBudgetShare: 0, retryBudgetFloorPerSecond: 1.2 };
    expect([1, 2, 3].map(() => budget.takeRetry(raised, 0))).toEqual([true, true, false]);
  });

  it('allows its share of the load of the last ten seconds', () => {
    const { budget, spendAll } = budgetOf({ share: 0.1 });
    for (let n = 0; n < 1_000; n++) budget.noteRequest(0);
    expect(spendAll()).toBe(100);
    expect(spendAll(10_000)).toBe(10);
  });

  it('allows no whole retry for a part of one', () => {
    const { budget, spendAll } = budgetOf({ share: 0.1, floorPerSecond: 0 });
    for (let n = 0; n < 9; n++) budget.noteRequest(0);
    expect(spendAll()).toBe(0);
    budget.noteRequest(0);
    expect(spendAll()).toBe(1);
  });

  it('allows nothing when set to nothing', () => {
    expect(budgetOf({ share: 0, floorPerSecond: 0 }).spendAll()).toBe(0);
  });
});

describe('the retry budgets of several replicas', () => {
  const steps = fc.array(
    fc.record({
      waitMs: fc.nat(2_500),
      requests: fc.array(fc.nat(40), { maxLength: 5 }),
      wanted: fc.array(fc.nat(20), { maxLength: 5 }),
    }),
    { minLength: 1, maxLength: 60, size: 'max' },
  );
  const rules = fc.record({
    retryBudgetShare: fc.double({ min: 0, max: 1, noNaN: true }),
    retryBudgetFloorPerSecond: fc.nat(3),
  });

  it('never come to more than the share of the load of all, and the floor of each', () => {
    fc.assert(
      fc.property(rules, fc.integer({ min: 1, max: 5 }), steps, (budgetRules, count, happenings) => {
        let nowMs = 0;
        const replicas = Array.from({ length: count }, () => new RetryBudget());
        let requests = 0;
        let retries = 0;
        for (const { waitMs, requests: asked, wanted } of happenings) {
          nowMs += waitMs;
          replicas.forEach((replica, index) => {
            for (let n = 0; n < (asked[index] ?? 0); n++, requests++) replica.noteRequest(nowMs);
            // A retry may reach a replica other than the one of its first request.
            for (let n = 0; n < (wanted[index] ?? 0); n++) {
              if (replica.takeRetry(budgetRules, nowMs)) retries += 1;
            }
          });
        }
        const { retryBudgetShare: share, retryBudgetFloorPerSecond: floorPerSecond } = budgetRules;
        const windows = Math.floor(nowMs / 10_000) + 1;
        expect(retries).toBeLessThanOrEqual(share * requests + count * windows * floorPerSecond * 10);
      }),
      { numRuns: 300 },
    );
  });
});
