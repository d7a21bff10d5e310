import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { TracedRequest } from './__fixtures__/traced-request.ts';
import { RecentTraces } from './recent-traces.ts';

const recent = (capacity: number) => new RecentTraces({ capacity, slowMs: 1_000 });
let requests = 0;

function serve(traces: RecentTraces, kind: 'plain' | 'failed', tokenId = 't'): string {
  const id = `${kind}-${requests++}`;
  const traced = new TracedRequest(id, requests).read('m', tokenId).lease('a');
  traces.begin(traced.trace);
  if (kind === 'plain') traced.answer().end();
  else traced.fail(AttemptResult.SERVER_ERROR).end({ status: 503, errorCode: 'providers_unavailable' });
  traces.end(traced.trace);
  return id;
}

const idsOf = (traces: RecentTraces) => traces.latest(1_000, () => true).map(({ requestId }) => requestId);

describe('recent requests', () => {
  it('are the newest ones, newest first', () => {
    const traces = recent(4);
    const ids = Array.from({ length: 10 }, () => serve(traces, 'plain'));
    expect(idsOf(traces)).toEqual(ids.slice(-4).reverse());
    expect(traces.find(ids[9] ?? '')?.requestId).toBe(ids[9]);
    expect(traces.find(ids[5] ?? '')).toBeUndefined();
    expect(traces.latest(2, ({ requestId }) => requestId !== ids[9]).map(({ requestId }) => requestId)).toEqual([
      ids[8],
      ids[7],
    ]);
  });

  it('keep failures while plain successes come by the hundred', () => {
    const traces = recent(10);
    const failed = serve(traces, 'failed');
    for (let n = 0; n < 500; n++) serve(traces, 'plain');
    expect(traces.find(failed)).toBeDefined();
    expect(idsOf(traces)).toHaveLength(10);
  });

  it('keep plain successes, and the newest failures, while failures come by the hundred', () => {
    const traces = recent(10);
    const plain = serve(traces, 'plain');
    const failed = Array.from({ length: 500 }, () => serve(traces, 'failed'));
    expect(traces.find(plain)).toBeDefined();
    expect(idsOf(traces).slice(0, 5)).toEqual(failed.slice(-5).reverse());
    expect(idsOf(traces)).toHaveLength(10);
  });

  it('use all room for failures when there is nothing else', () => {
    const traces = recent(10);
    const failed = Array.from({ length: 30 }, () => serve(traces, 'failed'));
    expect(idsOf(traces)).toEqual(failed.slice(-10).reverse());
  });

  it('include those under way, until they end', () => {
    const traces = recent(1);
    const running = new TracedRequest('running').read();
    traces.begin(running.trace);
    expect(traces.find('running')?.end).toBeUndefined();
    running.end();
    traces.end(running.trace);
    expect(traces.find('running')?.end?.status).toBe(200);
    serve(traces, 'plain');
    expect(traces.find('running')).toBeUndefined();
  });

  it('leave out requests without a token, and all when there is room for none', () => {
    const traces = recent(2);
    serve(traces, 'failed', '');
    expect(idsOf(traces)).toEqual([]);
    const none = recent(0);
    serve(none, 'failed');
    expect(idsOf(none)).toEqual([]);
  });

  it('end once, and only when they began', () => {
    const traces = recent(5);
    const { trace } = new TracedRequest().read().end();
    traces.end(trace);
    expect(idsOf(traces)).toEqual([]);
    traces.begin(trace);
    traces.end(trace);
    traces.end(trace);
    expect(idsOf(traces)).toHaveLength(1);
  });
});
