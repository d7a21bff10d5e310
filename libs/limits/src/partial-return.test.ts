import { describe, expect, it } from 'vitest';
import { PartialReturn } from './partial-return.ts';

describe('the time between the return of one replica and the return of all', () => {
  const returned = new PartialReturn(2, 10_000);

  it('is over ten seconds later', () => {
    expect([10_000, 19_999, 20_000, 30_000].map((nowMs) => returned.isOver(nowMs))).toEqual([false, false, true, true]);
  });

  it('ends when all were heard from after the return, and no replica is missing', () => {
    const place = { replicas: 2, position: 0 };
    const areAllBack = (longestSilenceMs: number, replicas = 2) =>
      returned.areAllBack({ ...place, replicas, longestSilenceMs }, 10_500);
    expect([499, 500, 501].map((silenceMs) => areAllBack(silenceMs))).toEqual([true, false, false]);
    expect([1, 2, 3].map((replicas) => areAllBack(0, replicas))).toEqual([false, true, true]);
    expect(returned.areAllBack(place, 10_001)).toBe(true);
    expect(returned.areAllBack(place, 10_000)).toBe(false);
  });
});
