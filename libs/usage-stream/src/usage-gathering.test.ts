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

  it('lets whoever gives up end the sending of its group', async () => {
    const { gathering, signals } = setUp();
    await gathering.record([event('a')], signal);
    const controller = new AbortController();
    void gathering.record([event('b')], signal);
    void gathering.record([event('c')], controller.signal);
    await gathering.flush();
    expect(signals.at(-1)?.aborted).toBe(false);
    controller.abort();
    expect(signals.at(-1)?.aborted).toBe(true);
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
