import { create } from '@bufbuild/protobuf';
import { type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UsageGathering } from './usage-gathering.ts';

const { signal } = new AbortController();
const event = (requestId: string) => create(UsageRecordedSchema, { requestId });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('gathering usage', () => {
  it('sends at once what comes alone, and together what comes soon after it', async () => {
    const { gathering, groups } = setUp();
    await gathering.record([event('a')], signal);
    const later = [gathering.record([event('b')], signal), gathering.record([event('c'), event('d')], signal)];
    expect(groups).toEqual([['a']]);
    await vi.advanceTimersByTimeAsync(gatherMs);
    await Promise.all(later);
    expect(groups).toEqual([['a'], ['b', 'c', 'd']]);
    await vi.advanceTimersByTimeAsync(gatherMs);
    await gathering.record([event('e')], signal);
    expect(groups.at(-1)).toEqual(['e']);
  });

  it('does not wait when there are enough', async () => {
    const { gathering, groups } = setUp();
    await gathering.record([event('a')], signal);
    const waits = gathering.record([event('b')], signal);
    await gathering.record(['c', 'd', 'e'].map(event), signal);
    await waits;
    expect(groups).toEqual([['a'], ['b', 'c', 'd', 'e']]);
  });

  it('is over with everything when it is flushed', async () => {
    const { gathering, groups, hold } = setUp();
    const held = hold();
    const sent = [gathering.record([event('a')], signal), gathering.record([event('b')], signal)];
    let flushed = false;
    const flushing = gathering.flush().then(() => {
      flushed = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(groups).toEqual([['a'], ['b']]);
    expect(flushed).toBe(false);
    held.resolve();
    await Promise.all([...sent, flushing]);
    await gathering.flush();
    expect(groups).toHaveLength(2);
  });

  it('tells everybody in a group when it could not be sent, and goes on', async () => {
    const { gathering, groups, hold } = setUp();
    await gathering.record([event('a')], signal);
    const held = hold();
    const failed = Promise.allSettled([gathering.record([event('b')], signal), gathering.record([event('c')], signal)]);
    const flushing = gathering.flush();
    held.reject(new Error('away'));
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await flushing;
    await vi.advanceTimersByTimeAsync(gatherMs);
    await gathering.record([event('d')], signal);
    expect(groups.at(-1)).toEqual(['d']);
  });

  it('lets a caller leave without ending the sending for the others of its group', async () => {
    const { gathering, groups, signals, hold } = setUp();
    await gathering.record([event('a')], signal);
    const held = hold();
    const controller = new AbortController();
    const staying = gathering.record([event('b')], signal);
    const leaving = gathering.record([event('c')], controller.signal);
    void gathering.flush();
    controller.abort(new Error('enough'));
    await expect(leaving).rejects.toThrow('enough');
    expect(signals.at(-1)?.aborted).toBe(false);
    held.resolve();
    await staying;
    expect(groups.at(-1)).toEqual(['b', 'c']);
  });

  it('does not send for a caller that left before its group began', async () => {
    const { gathering, groups } = setUp();
    await gathering.record([event('a')], signal);
    const controller = new AbortController();
    const leaving = gathering.record([event('b')], controller.signal);
    const staying = gathering.record([event('c')], signal);
    controller.abort(new Error('enough'));
    await expect(leaving).rejects.toThrow('enough');
    await expect(gathering.record([event('d')], controller.signal)).rejects.toThrow('enough');
    await gathering.flush();
    await staying;
    expect(groups).toEqual([['a'], ['c']]);
  });

  it('gives a group up after its own time', async () => {
    vi.useRealTimers();
    const ended = Promise.withResolvers<unknown>();
    const gathering = new UsageGathering({
      gatherMs,
      fullEvents: 4,
      timeoutMs: 20,
      send: (_events, given) =>
        new Promise((_resolve, reject) =>
          given.addEventListener('abort', () => {
            ended.resolve(given.reason);
            reject(given.reason);
          }),
        ),
    });
    await expect(gathering.record([event('a')], signal)).rejects.toThrow(/timeout/);
    expect(await ended.promise).toMatchObject({ name: 'TimeoutError' });
  });
});

const gatherMs = 100;

function setUp() {
  const groups: string[][] = [];
  const signals: AbortSignal[] = [];
  let answer: Promise<void> = Promise.resolve();
  const gathering = new UsageGathering({
    gatherMs,
    fullEvents: 4,
    timeoutMs: 10_000,
    send: async (events: readonly UsageRecorded[], given) => {
      groups.push(events.map(({ requestId }) => requestId));
      signals.push(given);
      await answer;
    },
  });
  /** Lets the sendings from now on wait. */
  const hold = () => {
    const held = Promise.withResolvers<void>();
    answer = held.promise;
    held.promise.catch(() => {
      answer = Promise.resolve();
    });
    return held;
  };
  return { gathering, groups, signals, hold };
}
