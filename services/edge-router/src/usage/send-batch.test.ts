import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sendBatch } from './send-batch.ts';

const batch: readonly RequestRecorded[] = [];

describe('a batch on its way to the ledger', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function send(stop = new AbortController()) {
    const answer = Promise.withResolvers<void>();
    const seen: string[] = [];
    const asked: { batch?: unknown; signal?: AbortSignal } = {};
    const sink = {
      record: (given: unknown, signal: AbortSignal) => {
        Object.assign(asked, { batch: given, signal });
        return answer.promise;
      },
    };
    const sending = { stop: stop.signal, onSlow: () => seen.push('slow'), onLate: () => seen.push('late') };
    const sent = sendBatch(sink, batch, sending).then(
      () => 'accepted',
      (thrown: unknown) => thrown,
    );
    void sent.then((outcome) => seen.push(outcome === 'accepted' ? 'accepted' : 'rejected'));
    return { answer, asked, seen, sent, stop };
  }

  it('is accepted when the sink has it, and then waits for nothing', async () => {
    const { answer, asked, seen, sent } = send();
    await vi.advanceTimersByTimeAsync(4);
    answer.resolve();
    expect(await sent).toBe('accepted');
    expect(asked.batch).toBe(batch);
    expect(asked.signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen).toEqual(['accepted']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is slow after 5 milliseconds, late after a second and given up after ten, to the millisecond', async () => {
    const { asked, seen, sent } = send();
    const steps: [ms: number, expected: string[]][] = [
      [4, []],
      [1, ['slow']],
      [994, ['slow']],
      [1, ['slow', 'late']],
      [8_999, ['slow', 'late']],
      [1, ['slow', 'late', 'rejected']],
    ];
    for (const [ms, expected] of steps) {
      await vi.advanceTimersByTimeAsync(ms);
      expect(seen).toEqual(expected);
    }
    expect(await sent).toEqual(new Error('the sink has not answered in time'));
    expect(asked.signal?.aborted).toBe(true);
  });

  it('may be accepted late, and then stays accepted', async () => {
    const { answer, asked, seen, sent } = send();
    await vi.advanceTimersByTimeAsync(9_999);
    answer.resolve();
    expect(await sent).toBe('accepted');
    await vi.advanceTimersByTimeAsync(60_000);
    expect([seen, asked.signal?.aborted]).toEqual([['slow', 'late', 'accepted'], false]);
  });

  it('fails as the sink fails, and then waits for nothing', async () => {
    const { answer, sent } = send();
    const refused = new Error('refused');
    answer.reject(refused);
    expect(await sent).toBe(refused);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is given up at once when it is stopped, for that reason, before or on its way', async () => {
    const reason = new Error('closed');
    const underWay = send();
    underWay.stop.abort(reason);
    const stopped = new AbortController();
    stopped.abort(reason);
    for (const { asked, sent } of [underWay, send(stopped)]) {
      expect(await sent).toBe(reason);
      expect(asked.signal?.reason).toBe(reason);
    }
    expect(vi.getTimerCount()).toBe(0);
  });
});
