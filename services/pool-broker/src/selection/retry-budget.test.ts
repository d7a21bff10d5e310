import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { RetryBudget } from './retry-budget.ts';

function budgetOf({ share = 0.1, floorPerSecond = 1 }) {
  const clock = new ManualClock(0);
  const budget = new RetryBudget({ share, floorPerSecond }, clock);
  const spendAll = () => {
    let spent = 0;
    while (budget.allowsRetry()) {
      budget.noteRetry();
      spent += 1;
    }
    return spent;
  };
  return { clock, budget, spendAll };
}

describe('the retry budget', () => {
  it('lets a quiet gateway have its floor', () => {
    const { clock, spendAll } = budgetOf({ floorPerSecond: 1 });
    expect(spendAll()).toBe(10);
    clock.advanceMs(9_999);
    expect(spendAll()).toBe(0);
    clock.advanceMs(1);
    expect(spendAll()).toBe(10);
  });

  it('allows its share of the load of the last ten seconds', () => {
    const { clock, budget, spendAll } = budgetOf({ share: 0.1 });
    for (let n = 0; n < 1_000; n++) budget.noteRequest();
    expect(spendAll()).toBe(100);
    clock.advanceMs(10_000);
    expect(spendAll()).toBe(10);
  });

  it('allows nothing when set to nothing', () => {
    expect(budgetOf({ share: 0, floorPerSecond: 0 }).spendAll()).toBe(0);
  });
});
