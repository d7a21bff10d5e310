import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WINDOW_MS } from './decide.ts';
import { replicaSilenceMs } from './replica-share.ts';
import { WindowCaps } from './window-caps.ts';

const at = Date.parse('2026-11-20T12:00:00Z');
const two = { replicas: 2, position: 0 };

describe('the cap of a window', () => {
  let time: ManualTime;
  let caps: WindowCaps;
  beforeEach(() => {
    time = new ManualTime(at);
    caps = new WindowCaps(2);
  });
  afterEach(() => time[Symbol.dispose]());

  const capOf = (own: number, limit = 60, name = 'k') =>
    caps.capOf(name, limit, {
      place: two,
      ownUntil: (untilMs) => (untilMs === at ? own : expect.fail('another time')),
    });
  /** A minute, half a minute, and ten seconds after the outage began, and so on. */
  const capsAfterMs = (own: number, ...instants: readonly number[]) =>
    instants.map((afterMs) => {
      time.setMs(at + afterMs);
      return capOf(own);
    });

  it('is what it held and its share of what was free, then at most its share of all, and then that', () => {
    caps.note('k', { atMs: at, others: 10 });
    caps.begin(at);
    expect(capsAfterMs(40, 0, 59_999, 60_000, 129_999, 130_000)).toEqual([45, 45, 30, 30, 30]);
    caps.begin(at);
    expect(capsAfterMs(6, 0, 59_999, 60_000, 129_999, 130_000)).toEqual([28, 28, 28, 28, 30]);
  });

  it('is nothing where the others had taken everything', () => {
    caps.note('k', { atMs: at, others: 70 });
    caps.begin(at);
    expect([capOf(0), capOf(0, 80)]).toEqual([0, 5]);
  });

  it('is its share of the limit where it had not asked for a minute, or has forgotten the answer', () => {
    caps.note('k', { atMs: at, others: 60 });
    caps.begin(at + WINDOW_MS - 1);
    expect(capOf(0)).toBe(0);
    caps.begin(at + WINDOW_MS);
    expect([capOf(0), capOf(0, 60, 'other')]).toEqual([30, 30]);
    caps.begin(at);
    for (const name of ['other', 'another']) caps.note(name, { atMs: at, others: 60 });
    expect(capOf(0)).toBe(30);
  });

  it('stays what it was at the first request of an outage, until another outage begins', () => {
    caps.note('k', { atMs: at, others: 0 });
    caps.begin(at);
    expect([capOf(40), capOf(0)]).toEqual([50, 50]);
    caps.begin(at + 1);
    expect(capOf(0)).toBe(30);
  });

  it('is its share of the limit when the clock is set back', () => {
    caps.note('k', { atMs: at, others: 60 });
    caps.begin(at);
    time.advanceMs(-3_600_000);
    expect(capOf(0)).toBe(30);
  });
});

const ask = fc.record({ replica: fc.nat(3), waitMs: fc.nat(3_000), count: fc.integer({ min: 1, max: 4 }) });
const history = fc.record({
  limit: fc.integer({ min: 1, max: 40 }),
  replicas: fc.integer({ min: 1, max: 4 }),
  before: fc.array(ask, { maxLength: 80, size: 'max' }),
  /** In which order all of them ask once more before the outage, and what is asked after that. */
  lastOrder: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
  asksAfterLast: fc.array(ask, { maxLength: 8 }),
  /** When each of them notices the outage. */
  noticedMs: fc.array(fc.nat(replicaSilenceMs - 1), { minLength: 4, maxLength: 4 }),
  during: fc.array(ask, { maxLength: 200, size: 'max' }),
});
type History = typeof history extends fc.Arbitrary<infer H> ? H : never;

/**
 * Replicas ask one exact window until it is away, and then decide by their caps. Returns the most
 * admissions in any minute, and the most that others took after the last answer to a replica.
 */
function play({ limit, replicas: count, before, lastOrder, asksAfterLast, noticedMs, during }: History) {
  using time = new ManualTime(at);
  const admittedMs: number[] = [];
  const inWindow = (instants: readonly number[]) => instants.filter((atMs) => atMs > time.nowMs - WINDOW_MS).length;
  const replicas = Array.from({ length: count }, (_, position) => {
    const own: number[] = [];
    const state = { takenSince: 0, startsAtMs: 0 };
    return { caps: new WindowCaps(1), own, state, place: { replicas: count, position } };
  });
  const chosen = (index: number) => replicas[index % count] ?? expect.fail('there is one');
  const admit = (one: (typeof replicas)[number]) => {
    admittedMs.push(time.nowMs);
    one.own.push(time.nowMs);
    for (const other of replicas) if (other !== one) other.state.takenSince += 1;
  };
  const askStore = (index: number) => {
    const one = chosen(index);
    if (inWindow(admittedMs) < limit) admit(one);
    one.caps.note('k', { atMs: time.nowMs, others: inWindow(admittedMs) - inWindow(one.own) });
    one.state.takenSince = 0;
  };
  for (const { replica, waitMs, count: times } of before) {
    time.advanceMs(waitMs);
    for (let n = 0; n < times; n++) askStore(replica);
  }
  for (const replica of lastOrder) askStore(replica);
  for (const { replica, count: times } of asksAfterLast) for (let n = 0; n < times; n++) askStore(replica);
  const takenSince = Math.max(...replicas.map(({ state }) => state.takenSince));
  for (const [index, { caps, state }] of replicas.entries()) {
    state.startsAtMs = time.nowMs + (noticedMs[index] ?? 0);
    caps.begin(state.startsAtMs);
  }
  for (const { replica, waitMs, count: times } of during) {
    time.advanceMs(waitMs);
    const one = chosen(replica);
    if (time.nowMs < one.state.startsAtMs) continue;
    const ownUntil = (untilMs: number) =>
      one.own.filter((atMs) => atMs > time.nowMs - WINDOW_MS && atMs <= untilMs).length;
    for (let n = 0; n < times; n++) {
      if (inWindow(one.own) < one.caps.capOf('k', limit, { place: one.place, ownUntil })) admit(one);
    }
  }
  const mostInAnyMinute = Math.max(
    0,
    ...admittedMs.map((fromMs) => admittedMs.filter((each) => each >= fromMs && each < fromMs + WINDOW_MS).length),
  );
  return { mostInAnyMinute, takenSince };
}

describe('replicas that lose the store that counts for them', () => {
  it('admit at most the limit, and what others took after the last answer to one of them', () => {
    fc.assert(
      fc.property(history, (one) => {
        const { mostInAnyMinute, takenSince } = play(one);
        expect(mostInAnyMinute).toBeLessThanOrEqual(one.limit + takenSince);
      }),
      { numRuns: process.env.FAULTS === 'long' ? 5_000 : 500 },
    );
  });

  it('admit exactly the limit when all of them had just asked and go on', () => {
    const asks = Array.from({ length: 300 }, (_, n) => ({ replica: n, waitMs: 100, count: 3 }));
    const before = [8, 1, 0, 5, 0, 0, 8].map((replica) => ({ replica, waitMs: 200, count: 4 }));
    const lastOrder = [0, 1, 2, 3];
    for (const replicas of [1, 2, 3, 4]) {
      const refused = { limit: 20, replicas, before, lastOrder, asksAfterLast: [], noticedMs: [0, 0, 0, 0] };
      expect(play({ ...refused, during: asks })).toEqual({ mostInAnyMinute: 20, takenSince: 0 });
    }
  });
});
