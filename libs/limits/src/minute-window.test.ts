import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MinuteWindow } from './minute-window.ts';

interface Entry {
  readonly requestId: string;
  readonly enteredMs: number;
}

/** The simplest possible window: a list that each step replaces. */
class ModelWindow {
  entries: readonly Entry[] = [];
  returned: readonly Entry[] = [];

  advance(clockMs: number): number {
    const newestMs = this.entries.at(-1)?.enteredMs ?? -Infinity;
    if (newestMs > clockMs + 60_000) {
      this.entries = this.entries.map((entry) => ({ ...entry, enteredMs: Math.min(entry.enteredMs, clockMs) }));
    }
    const nowMs = Math.max(clockMs, this.entries.at(-1)?.enteredMs ?? -Infinity);
    this.entries = this.entries.filter(({ enteredMs }) => enteredMs > nowMs - 60_000);
    return nowMs;
  }

  add(requestId: string, enteredMs: number): void {
    if (this.entries.some((entry) => entry.requestId === requestId)) return;
    this.entries = [...this.entries, { requestId, enteredMs }].toSorted(
      (one, other) => one.enteredMs - other.enteredMs,
    );
  }

  record(requestId: string, enteredMs: number, clockMs: number): void {
    if (!this.returnedAt(clockMs).some((entry) => entry.requestId === requestId)) this.add(requestId, enteredMs);
  }

  release(requestId: string): void {
    this.entries = this.entries.filter((entry) => entry.requestId !== requestId);
  }

  giveBack(requestId: string, enteredMs: number): void {
    this.release(requestId);
    const others = this.returned.filter((entry) => entry.requestId !== requestId);
    this.returned = [...others, { requestId, enteredMs }];
  }

  returnedAt(clockMs: number): readonly Entry[] {
    return this.returned.filter(({ enteredMs }) => enteredMs > clockMs - 60_000 && enteredMs < clockMs + 60_000);
  }
}

const requestId = fc.integer({ min: 0, max: 30 }).map((n) => `request-${n}`);
const ageMs = fc.oneof(fc.constantFrom(0, 59_999, 60_000, 60_001), fc.nat(70_000));
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ verb: fc.constant('take' as const), requestId }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('release' as const), requestId }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('give back' as const), requestId }) },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant('record' as const),
      admissions: fc.array(fc.record({ requestId, ageMs, isReturned: fc.boolean() }), { maxLength: 5 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ verb: fc.constant('wait' as const), ms: fc.oneof(fc.nat(15_000), ageMs) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constant('setBack' as const),
      ms: fc.oneof(fc.constantFrom(59_999, 60_000, 60_001), fc.nat(200_000)),
    }),
  },
);

it('a window remembers the last thousand slots that were returned', () => {
  const window = new MinuteWindow();
  for (let n = 0; n < 1_000; n++) window.giveBack(`request-${n}`, n);
  expect(window.returned(1_000)).toHaveLength(1_000);
  window.giveBack('one more', 1_000);
  const remembered = window.returned(1_000).map(({ requestId }) => requestId);
  expect([remembered.length, remembered.at(0), remembered.at(-1)]).toEqual([1_000, 'request-1', 'one more']);
});

it('a window is at each step the list of what entered in the last minute and was not returned, in the order of time', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const [window, model] = [new MinuteWindow(), new ModelWindow()];
      let clockMs = 1_000_000;
      for (const each of steps) {
        if (each.verb === 'wait') clockMs += each.ms;
        else if (each.verb === 'setBack') clockMs -= each.ms;
        else if (each.verb === 'release') {
          window.release(each.requestId);
          model.release(each.requestId);
        } else if (each.verb === 'give back') {
          window.giveBack(each.requestId, clockMs);
          model.giveBack(each.requestId, clockMs);
        } else if (each.verb === 'record') {
          window.record(each.admissions, clockMs);
          model.advance(clockMs);
          for (const { requestId, ageMs, isReturned } of each.admissions) {
            if (ageMs >= 60_000) continue;
            if (isReturned) model.giveBack(requestId, clockMs - ageMs);
            else model.record(requestId, clockMs - ageMs, clockMs);
          }
          model.advance(clockMs);
        } else {
          const nowMs = model.advance(clockMs);
          expect(window.advance(clockMs)).toBe(nowMs);
          const isKnown = model.entries.some((entry) => entry.requestId === each.requestId);
          expect(window.has(each.requestId)).toBe(isKnown);
          if (!isKnown) window.take(each.requestId, nowMs);
          model.add(each.requestId, nowMs);
        }
        expect(window.entries).toEqual(model.entries);
        expect(window.size).toBe(model.entries.length);
        expect(window.returned(clockMs)).toEqual(
          model.returnedAt(clockMs).map((entry) => ({ ...entry, isReturned: true })),
        );
        for (const limit of [0, 1, 2, 100]) {
          expect(window.state(limit)).toEqual({
            used: model.entries.length,
            reserved: 0,
            newestMs: model.entries.at(-1)?.enteredMs,
            freeingMs: model.entries[Math.max(0, model.entries.length - limit)]?.enteredMs,
          });
        }
      }
    }),
    { numRuns: 200 },
  );
});

it('a window has no newest entry when all that has not expired is returned', () => {
  const window = new MinuteWindow();
  for (const [requestId, enteredMs] of [
    ['a', 0],
    ['b', 30_000],
    ['c', 30_000],
  ] as const)
    window.take(requestId, window.advance(enteredMs));
  window.advance(60_000);
  for (const requestId of ['b', 'c']) window.giveBack(requestId, 60_000);
  expect(window.state(1)).toEqual({ used: 0, reserved: 0, newestMs: undefined, freeingMs: undefined });
  expect(window.advance(-10_000)).toBe(-10_000);
});
