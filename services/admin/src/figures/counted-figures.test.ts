import { describe, expect, it } from 'vitest';
import { Counting, countedBetween, countedMetrics, quantileOf } from './counted-figures.ts';
import { parseMetrics } from './prometheus-text.ts';

const wanted = new Set(countedMetrics);
const read = (...lines: string[]) => parseMetrics(lines.join('\n'), wanted);
const requests = (count: number, status = 200) =>
  `http_server_request_duration_seconds_count{http_response_status_code="${status}"} ${count}`;

describe('counting', () => {
  it('adds up replicas from when they are first seen', () => {
    const counting = new Counting();
    const first = counting.add(new Map([['a', read(requests(100))]]));
    const second = counting.add(
      new Map([
        ['a', read(requests(130), requests(5, 503))],
        ['b', read(requests(1_000))],
      ]),
    );
    expect(countedBetween(first, second).requests).toEqual(new Map([['', 35]]));
    expect(countedBetween(first, second).errors).toEqual(new Map([['', 5]]));
    const third = counting.add(
      new Map([
        ['a', read(requests(130), requests(5, 503))],
        ['b', read(requests(1_010))],
      ]),
    );
    expect(countedBetween(second, third).requests).toEqual(new Map([['', 10]]));
  });

  it('continues across restarts of a replica, and while one could not be read', () => {
    const counting = new Counting();
    counting.add(new Map([['a', read(requests(100))]]));
    const before = counting.add(new Map([['a', undefined]]));
    const after = counting.add(new Map([['a', read(requests(7))]]));
    expect(countedBetween(before, after).requests).toEqual(new Map([['', 7]]));
  });

  it('forgets a replica that is gone', () => {
    const counting = new Counting();
    counting.add(new Map([['a', read(requests(100))]]));
    counting.add(new Map());
    const total = counting.add(new Map([['a', read(requests(200))]]));
    expect(total.requests.get('') ?? 0).toBe(0);
  });

  it('counts tokens of the cache once, and by model', () => {
    const tokens = (type: string, count: number) =>
      `gateway_tokens_total{gen_ai_request_model="m",gen_ai_token_type="${type}"} ${count}`;
    const counting = new Counting();
    counting.add(new Map([['a', read()]]));
    const total = counting.add(
      new Map([['a', read(tokens('input', 100), tokens('cache_read_input', 90), tokens('output', 8))]]),
    );
    expect(total.tokens).toEqual(new Map([['m', 108]]));
  });
});

describe('a quantile', () => {
  const buckets = new Map([
    ['+Inf', 100],
    ['1', 0],
    ['2.5', 50],
    ['5', 90],
  ]);
  it('is estimated within its bucket', () => {
    expect(quantileOf(buckets, 0.25)).toBeCloseTo(1.75);
    expect(quantileOf(buckets, 0.5)).toBeCloseTo(2.5);
    expect(quantileOf(buckets, 0.7)).toBeCloseTo(3.75);
  });
  it('is the last bound for larger values, and undefined without values', () => {
    expect(quantileOf(buckets, 0.95)).toBe(5);
    expect(quantileOf(new Map([['+Inf', 0]]), 0.5)).toBeUndefined();
    expect(quantileOf(new Map(), 0.5)).toBeUndefined();
  });
});
