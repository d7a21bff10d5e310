import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FramePace } from './frame-pace.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function paceAfter(frames: number): FramePace {
  const pace = new FramePace();
  for (let frame = 0; frame < frames; frame++) pace.onFrame();
  return pace;
}

describe('the pace of frames', () => {
  it('lets the first frames of an answer go at once', () => {
    expect(paceAfter(0).untilNext()).toBeUndefined();
    expect(paceAfter(3).untilNext()).toBeUndefined();
  });

  it('lets events go at once that come one by one', () => {
    const pace = paceAfter(10);
    vi.advanceTimersByTime(1);
    expect(pace.untilNext()).toBeUndefined();
  });

  it('holds a frame that follows another at once, for no more than a millisecond', async () => {
    const pace = paceAfter(10);
    let isOver = false;
    const waiting = pace.untilNext()?.then(() => {
      isOver = true;
    });
    expect(waiting).toBeInstanceOf(Promise);
    await Promise.resolve();
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
    expect(pace.untilNext()).toBeUndefined();
  });

  it('lets all answers that wait go on together', () => {
    expect(paceAfter(10).untilNext()).toBe(paceAfter(10).untilNext());
    expect(vi.getTimerCount()).toBe(1);
    vi.runAllTimers();
  });
});
