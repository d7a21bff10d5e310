import { describe, expect, it } from 'vitest';
import { callCancelled, HandlerContext } from './handler-context.ts';
import { isAborted } from './is-aborted.ts';

describe('whether a call is aborted', () => {
  it('is known whether or not its signal was read', () => {
    const [read, unread] = [new HandlerContext(), new HandlerContext()];
    const { signal } = read;
    expect([isAborted(read), isAborted(unread)]).toEqual([false, false]);
    read.abort(callCancelled);
    unread.abort(callCancelled);
    expect([isAborted(read), isAborted(unread), signal.aborted]).toEqual([true, true, true]);
  });

  it('is what the signal of any other context says', () => {
    expect(isAborted({ signal: AbortSignal.abort() })).toBe(true);
    expect(isAborted({ signal: new AbortController().signal })).toBe(false);
  });
});
