import { describe, expect, it } from 'vitest';
import { DayMaps } from './day-maps.ts';

describe('maps of days', () => {
  const open = () => new DayMaps<number>({ maxEntries: 2, isIdle: (untilMs, nowMs) => untilMs <= nowMs });

  it('keep the same key apart by its days', () => {
    const maps = open();
    maps.set('a', '2026-11-20', 1);
    maps.set('a', '2026-11-21', 2);
    expect(maps.get('a', '2026-11-20')).toBe(1);
    expect(maps.get('a', '2026-11-21')).toBe(2);
    expect(maps.get('a', '2026-11-22')).toBeUndefined();
    expect([...maps.values()]).toEqual([1, 2]);
  });

  it('give up the least recently used value of a day that has one too many', () => {
    const maps = open();
    for (const key of ['a', 'b', 'c']) maps.set(key, '2026-11-20', 1);
    maps.set('a', '2026-11-21', 1);
    expect(maps.get('a', '2026-11-20')).toBeUndefined();
    expect(maps.size).toBe(3);
  });

  it('forget what is idle, of each day', () => {
    const maps = open();
    maps.set('a', '2026-11-20', 1);
    maps.set('b', '2026-11-20', 5);
    maps.set('a', '2026-11-21', 2);
    maps.forgetIdle(2);
    expect([...maps.values()]).toEqual([5]);
    expect(maps.get('a', '2026-11-21')).toBeUndefined();
  });
});
