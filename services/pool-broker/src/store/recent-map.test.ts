import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { RecentMap } from './recent-map.ts';

describe('a recent map', () => {
  it('forgets an entry when its time is over', () => {
    const clock = new ManualClock(0);
    const map = new RecentMap<string>(clock, 10);
    map.set('a', 'x', 100);
    clock.advanceMs(99);
    expect(map.get('a')).toBe('x');
    clock.advanceMs(1);
    expect(map.get('a')).toBeUndefined();
  });

  it('never holds more than it may, and keeps what was set last', () => {
    const map = new RecentMap<number>(new ManualClock(0), 3);
    for (let n = 0; n < 10; n++) map.set(`${n}`, n, 100);
    expect([6, 7, 8, 9].map((n) => map.get(`${n}`))).toEqual([undefined, 7, 8, 9]);
  });

  it('takes an entry that is set again for the newest, with its new value and time', () => {
    const clock = new ManualClock(0);
    const map = new RecentMap<number>(clock, 2);
    map.set('a', 1, 100);
    map.set('b', 2, 100);
    clock.advanceMs(50);
    map.set('a', 3, 100);
    map.set('c', 4, 100);
    expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([3, undefined, 4]);
    clock.advanceMs(99);
    expect(map.get('a')).toBe(3);
    clock.advanceMs(1);
    expect(map.get('a')).toBeUndefined();
  });
});
