import { describe, expect, it } from 'vitest';
import type { Answer } from './limit-window-load.ts';
import { expectedRemaining, proveWindow } from './limit-window-proof.ts';

const refusal = (atMs: number, retryAtMs: number): Answer => ({
  sentMs: atMs - 5,
  receivedMs: atMs + 5,
  status: 429,
  remaining: 0,
  retryAfterSeconds: 1,
  retryAtMs,
});
const prove = (instants: readonly number[], answers: readonly Answer[] = []) =>
  proveWindow({ limit: 3, instants, answers, demand: { fromMs: 0, untilMs: 1_000_000 } });

describe('the proof of a window', () => {
  it('finds an entry that came before its slot was free', () => {
    expect(prove([0, 10, 20, 60_000, 60_010])).toMatchObject({ mostInAnyWindow: 3, smallestSlackMs: 0 });
    expect(prove([0, 10, 20, 59_999])).toMatchObject({ mostInAnyWindow: 4, mostFromMs: 0, smallestSlackMs: -1 });
  });

  it('finds a slot that was never given', () => {
    expect(prove([0, 10, 20, 60_000, 63_010]).freeForMs).toEqual({ slots: 2, median: 0, p99: 3_000, most: 3_000 });
  });

  it('finds a refusal while there was a free slot', () => {
    const log = [0, 10, 20, 60_000];
    const found = (one: Answer) => prove(log, [one]).refusalsWithFreeSlot;
    expect([found(refusal(30, 60_000)), found(refusal(59_990, 60_000)), found(refusal(60_004, 60_010))]).toEqual([
      0, 0, 0,
    ]);
    // Before the window was full, after its first slot was free, and with a time at which no slot
    // becomes free.
    expect([found(refusal(12, 60_000)), found(refusal(60_020, 60_000)), found(refusal(30, 60_001))]).toEqual([1, 1, 1]);
  });

  it('knows the remaining slots that the answers had to report', () => {
    expect(expectedRemaining([0, 10, 20, 60_000, 90_000], 3, 0)).toEqual([0, 0, 1, 1, 2]);
    expect(expectedRemaining([0, 10, 20, 60_000], 3, 15)).toEqual([0, 0]);
  });
});
