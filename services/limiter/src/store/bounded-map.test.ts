import { describe, expect, it } from 'vitest';
import { BoundedMap } from './bounded-map.ts';

describe('a bounded map', () => {
  const open = (forgotten: number[] = []) =>
    new BoundedMap<number>({
      maxEntries: 3,
      isIdle: (untilMs, nowMs) => untilMs <= nowMs,
      onForgotten: (value) => forgotten.push(value),
    });

  it('gives up the least recently used entry when there is one too many', () => {
    const forgotten: number[] = [];
    const map = open(forgotten);
    for (const [key, value] of Object.entries({ a: 1, b: 2, c: 3 })) map.set(key, value);
    map.get('a');
    map.set('b', 20);
    map.set('d', 4);
    expect([...map]).toEqual([
      ['a', 1],
      ['b', 20],
      ['d', 4],
    ]);
    expect(map.get('c')).toBeUndefined();
    expect(forgotten).toEqual([3]);
    expect(map.size).toBe(3);
  });

  it('forgets idle entries up to the first that is still needed', () => {
    const map = open();
    for (const [key, value] of Object.entries({ a: 1, b: 5, c: 2 })) map.set(key, value);
    map.forgetIdle(2);
    expect([...map].map(([key]) => key)).toEqual(['b', 'c']);
    map.forgetIdle(5);
    expect([...map]).toEqual([]);
    map.set('d', 9);
    expect([...map]).toEqual([['d', 9]]);
  });

  it('is as good as new after it was cleared', () => {
    const map = open();
    map.set('a', 1);
    map.clear();
    map.set('b', 2);
    map.set('c', 3);
    expect([...map].map(([key]) => key)).toEqual(['b', 'c']);
  });
});
