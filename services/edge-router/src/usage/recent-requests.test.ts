import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { RecentRequests } from './recent-requests.ts';

describe('RecentRequests', () => {
  it('names what ended a moment ago, per token, until it is confirmed or old', () => {
    const clock = new ManualClock(1_000_000);
    const recent = new RecentRequests(clock);
    recent.add('t1', 'r1');
    recent.add('t2', 'r2');
    clock.advanceMs(20_000);
    recent.add('t1', 'r3');
    expect(recent.of('t1')).toEqual(['r1', 'r3']);
    expect(recent.of('t2')).toEqual(['r2']);
    recent.confirm('t1', ['r3']);
    expect(recent.of('t1')).toEqual(['r1']);
    clock.advanceMs(10_000);
    expect(recent.of('t1')).toEqual([]);
  });

  it('remembers a bounded number, the newest', () => {
    const recent = new RecentRequests(new ManualClock(1_000_000));
    for (let n = 0; n < 300; n++) recent.add('t', `r${n}`);
    expect(recent.of('t')).toHaveLength(200);
    expect(recent.of('t').at(-1)).toBe('r299');
  });

  it('forgets tokens that have been silent, while others go on', () => {
    const clock = new ManualClock(1_000_000);
    const recent = new RecentRequests(clock);
    for (let n = 0; n < 10; n++) recent.add('silent', `old${n}`);
    clock.advanceMs(30_000);
    recent.confirm('silent', []);
    for (let n = 0; n < 10; n++) recent.add('busy', `new${n}`);
    expect(recent.of('silent')).toEqual([]);
    expect(recent.of('busy')).toHaveLength(10);
    expect(recent.tokenCount).toBe(1);
  });
});
