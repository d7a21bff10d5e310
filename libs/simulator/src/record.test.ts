import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it } from 'vitest';
import { Recorder } from './record.ts';

describe('Recorder', () => {
  it('keeps only the newest requests, but every bill', () => {
    const recorder = new Recorder(2);
    for (const account of ['a', 'b', 'c']) {
      begin(recorder, account).bill({ inputTokens: 5, cachedTokens: 1, outputTokens: 2, reasoningTokens: 0 });
    }
    expect(recorder.requests().map(({ account }) => account)).toEqual(['b', 'c']);
    expect(recorder.billed().total).toMatchObject({ requests: 3, inputTokens: 15 });
  });

  it('counts a request once, with the last it was billed', () => {
    const recorder = new Recorder(100);
    const record = begin(recorder, 'a');
    record.bill({ inputTokens: 5, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 });
    record.bill({ inputTokens: 5, cachedTokens: 0, outputTokens: 9, reasoningTokens: 4 });
    const expected = { requests: 1, inputTokens: 5, cachedTokens: 0, outputTokens: 9, reasoningTokens: 4 };
    expect(recorder.billed()).toEqual({ total: expected, accounts: { a: expected } });
  });

  it('keeps the beginning of large bodies', () => {
    const recorder = new Recorder(100);
    recorder.keepBody(begin(recorder, 'a'), Buffer.from(`"${'a'.repeat(100_000)}"`));
    recorder.keepBody(begin(recorder, 'a'), Buffer.from('[1]'));
    const [large, small] = recorder.requests();
    expect([large?.bodyBytes, large?.body.length, large?.json]).toEqual([100_002, 65_536, undefined]);
    expect(small?.json).toEqual([1]);
  });

  it('drops the oldest bodies when all together are too large', () => {
    const recorder = new Recorder(2_000);
    const body = Buffer.alloc(64 * 1024, ' ');
    for (let count = 0; count < 1_026; count++) recorder.keepBody(begin(recorder, 'a'), body);
    const kept = recorder.requests().map(({ body }) => body.length);
    expect([kept.slice(0, 3), kept.at(-1)]).toEqual([[0, 0, 65_536], 65_536]);
  });

  it('gives views that do not change, and the first end of a request', () => {
    using _ = new ManualTime(7);
    const recorder = new Recorder(100);
    const record = begin(recorder, 'a');
    const before = record.view;
    record.end('cancelled');
    record.end('completed');
    expect([before.outcome, record.view.outcome, record.view.endedAtMs]).toEqual(['running', 'cancelled', 7]);
  });

  it('says when the last bytes were sent, however late that is noted, and when a client that left was missed', () => {
    using time = new ManualTime(1);
    const recorder = new Recorder(100);
    const [whole, cut] = [begin(recorder, 'a'), begin(recorder, 'a')];
    for (const record of [whole, cut]) record.sending();
    time.setMs(2);
    for (const record of [whole, cut]) record.sending();
    time.setMs(3);
    whole.end('completed');
    cut.end('cancelled');
    expect([whole.view.endedAtMs, cut.view.endedAtMs]).toEqual([2, 3]);
  });

  it('finds requests by what they are', () => {
    const recorder = new Recorder(100);
    for (const account of ['a', 'b', 'a']) begin(recorder, account);
    expect(recorder.requests({ account: 'a' }).map(({ id }) => id)).toEqual([1, 3]);
    expect(recorder.requests({ afterId: 2 }).map(({ id }) => id)).toEqual([3]);
    expect(recorder.requests({ limit: 1, outcome: 'running' }).map(({ id }) => id)).toEqual([3]);
    expect(recorder.requests({ path: '/other' })).toEqual([]);
  });

  it('forgets everything, also what a request still running is billed later', () => {
    const recorder = new Recorder(100);
    const record = begin(recorder, 'a');
    recorder.reset();
    record.bill({ inputTokens: 5, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 });
    expect([recorder.requests(), recorder.billed().total.requests]).toEqual([[], 0]);
    expect(begin(recorder, 'a').state.id).toBe(2);
  });
});

function begin(recorder: Recorder, account: string) {
  return recorder.begin({ method: 'POST', path: '/v1/responses', query: '', headers: {}, account });
}
