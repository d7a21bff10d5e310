import { describe, expect, it } from 'vitest';
import { Recorder } from './record.ts';

describe('Recorder', () => {
  it('keeps only the newest requests, but every bill', () => {
    const recorder = newRecorder({ maximumRequests: 2 });
    for (const account of ['a', 'b', 'c']) {
      begin(recorder, account).bill({ inputTokens: 5, cachedTokens: 1, outputTokens: 2, reasoningTokens: 0 });
    }
    expect(recorder.requests().map(({ account }) => account)).toEqual(['b', 'c']);
    expect(recorder.billed().total).toMatchObject({ requests: 3, inputTokens: 15 });
  });

  it('counts a request once, with the last it was billed', () => {
    const recorder = newRecorder({});
    const record = begin(recorder, 'a');
    record.bill({ inputTokens: 5, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 });
    record.bill({ inputTokens: 5, cachedTokens: 0, outputTokens: 9, reasoningTokens: 4 });
    const expected = { requests: 1, inputTokens: 5, cachedTokens: 0, outputTokens: 9, reasoningTokens: 4 };
    expect(recorder.billed()).toEqual({ total: expected, accounts: { a: expected } });
  });

  it('keeps the beginning of large bodies', () => {
    const recorder = newRecorder({ maximumBodyBytes: 4 });
    recorder.keepBody(begin(recorder, 'a'), Buffer.from('"abcdef"'));
    recorder.keepBody(begin(recorder, 'a'), Buffer.from('[1]'));
    const [large, small] = recorder.requests();
    expect([large?.bodyBytes, Buffer.from(large?.body ?? []).toString(), large?.json]).toEqual([8, '"abc', undefined]);
    expect(small?.json).toEqual([1]);
  });

  it('drops the oldest bodies when all together are too large', () => {
    const recorder = newRecorder({ maximumTotalBodyBytes: 10 });
    for (let count = 0; count < 4; count++) recorder.keepBody(begin(recorder, 'a'), Buffer.from('1234'));
    expect(recorder.requests().map(({ body }) => body.length)).toEqual([0, 0, 4, 4]);
  });

  it('gives views that do not change, and the first end of a request', () => {
    const recorder = newRecorder({});
    const record = begin(recorder, 'a');
    const before = record.view;
    record.end('cancelled');
    record.end('completed');
    expect([before.outcome, record.view.outcome, record.view.endedAtMs]).toEqual(['running', 'cancelled', 7]);
  });

  it('says when the last bytes were sent, however late that is noted, and when a client that left was missed', () => {
    let nowMs = 1;
    const recorder = newRecorder({}, () => nowMs);
    const [whole, cut] = [begin(recorder, 'a'), begin(recorder, 'a')];
    for (const record of [whole, cut]) record.sending();
    nowMs = 2;
    for (const record of [whole, cut]) record.sending();
    nowMs = 3;
    whole.end('completed');
    cut.end('cancelled');
    expect([whole.view.endedAtMs, cut.view.endedAtMs]).toEqual([2, 3]);
  });

  it('finds requests by what they are', () => {
    const recorder = newRecorder({});
    for (const account of ['a', 'b', 'a']) begin(recorder, account);
    expect(recorder.requests({ account: 'a' }).map(({ id }) => id)).toEqual([1, 3]);
    expect(recorder.requests({ afterId: 2 }).map(({ id }) => id)).toEqual([3]);
    expect(recorder.requests({ limit: 1, outcome: 'running' }).map(({ id }) => id)).toEqual([3]);
    expect(recorder.requests({ path: '/other' })).toEqual([]);
  });

  it('forgets everything, also what a request still running is billed later', () => {
    const recorder = newRecorder({});
    const record = begin(recorder, 'a');
    recorder.reset();
    record.bill({ inputTokens: 5, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 });
    expect([recorder.requests(), recorder.billed().total.requests]).toEqual([[], 0]);
    expect(begin(recorder, 'a').id).toBe(2);
  });
});

function newRecorder(limits: Partial<ConstructorParameters<typeof Recorder>[0]>, nowMs = () => 7): Recorder {
  const defaults = { maximumRequests: 100, maximumBodyBytes: 100, maximumTotalBodyBytes: 1000 };
  return new Recorder({ ...defaults, ...limits }, nowMs);
}

function begin(recorder: Recorder, account: string) {
  return recorder.begin({ method: 'POST', path: '/v1/responses', query: '', headers: {}, account });
}
