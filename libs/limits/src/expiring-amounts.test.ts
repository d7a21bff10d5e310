import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it } from 'vitest';
import { ExpiringAmounts, ExpiringAmountsByName } from './expiring-amounts.ts';

const ttlMs = 100;

describe('amounts that expire', () => {
  it('add up until each has reached its time, counted from when it was set last', () => {
    const amounts = new ExpiringAmounts(ttlMs);
    amounts.set('a', 5, 0);
    amounts.set('b', 7, 40);
    amounts.set('a', 6, 50);
    amounts.advance(139);
    expect([amounts.sum, amounts.size, amounts.ids, amounts.amountOf('a')]).toEqual([13, 2, ['a', 'b'], 6]);
    amounts.advance(140);
    expect([amounts.sum, amounts.has('b'), amounts.amountOf('b')]).toEqual([6, false, 0]);
    amounts.delete('a');
    amounts.delete('a');
    expect([amounts.sum, amounts.size]).toEqual([0, 0]);
  });

  it('stay for their time and no longer after the clock was set back', () => {
    const amounts = new ExpiringAmounts(ttlMs);
    amounts.set('a', 5, 1_000_000);
    amounts.advance(0);
    amounts.advance(99);
    expect(amounts.sum).toBe(5);
    amounts.advance(100);
    expect(amounts.sum).toBe(0);
  });

  it('are kept by name, by one clock', () => {
    using time = new ManualTime(1_000);
    const amounts = new ExpiringAmountsByName(10, ttlMs);
    amounts.set('k', 'a', 5);
    amounts.set('l', 'a', 7);
    amounts.delete('l', 'a');
    amounts.delete('unknown', 'a');
    time.advanceMs(99);
    expect([amounts.open('k').sum, amounts.open('l').sum, amounts.open('unknown').sum]).toEqual([5, 0, 0]);
    time.advanceMs(1);
    expect(amounts.open('k').sum).toBe(0);
  });
});
