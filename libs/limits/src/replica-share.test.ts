import { create } from '@bufbuild/protobuf';
import { CostKind, LimitStatusSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asWhole, checkByShare, LastKnownPlace, ReplicaGroups, shareOf } from './replica-share.ts';

describe('the shares of a limit', () => {
  it('are together the limit, and differ by one at most', () => {
    const number = { limit: fc.nat(1_000), replicas: fc.integer({ min: 1, max: 50 }) };
    fc.assert(
      fc.property(fc.record(number), ({ limit, replicas }) => {
        const shares = Array.from({ length: replicas }, (_, position) => shareOf(limit, { replicas, position }));
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(limit);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('the last known place', () => {
  it('is not known at first, and then the one that was given last, for as long as no other is', () => {
    const place = new LastKnownPlace();
    expect(place.current).toBeUndefined();
    place.note({ replicas: 2, position: 1 }, 0);
    place.note({ replicas: 2, position: 0 }, 1_000_000);
    expect(place.current).toMatchObject({ replicas: 2, position: 0 });
    place.note({ replicas: 3, position: 2 }, 1_000_001);
    expect(place.current).toMatchObject({ replicas: 3, position: 2 });
  });

  it('is the newer one of two among as many replicas, or among more, however soon it is given', () => {
    const place = new LastKnownPlace();
    const given = [
      { replicas: 2, position: 1 },
      { replicas: 2, position: 0 },
      { replicas: 3, position: 2 },
      { replicas: 3, position: 0 },
    ];
    for (const [atMs, each] of given.entries()) {
      place.note(each, atMs);
      expect(place.current).toMatchObject(each);
    }
  });

  it('is among fewer replicas only after those that are missing were silent for ten seconds', () => {
    const place = new LastKnownPlace();
    place.note({ replicas: 3, position: 2 }, 0);
    for (const atMs of [2_000, 4_000, 9_999]) place.note({ replicas: 1, position: 0 }, atMs);
    expect(place.current).toMatchObject({ replicas: 3, position: 2 });
    place.note({ replicas: 2, position: 1 }, 10_000);
    expect(place.current).toMatchObject({ replicas: 2, position: 1 });
    place.note({ replicas: 1, position: 0 }, 12_000);
    expect(place.current).toMatchObject({ replicas: 2, position: 1 });
    place.note({ replicas: 1, position: 0 }, 20_000);
    expect(place.current).toMatchObject({ replicas: 1, position: 0 });
  });

  it('stays among as many replicas while the store is lost again and again, and has heard of the others only in between', () => {
    const place = new LastKnownPlace();
    place.note({ replicas: 2, position: 1 }, 0);
    for (let atMs = 2_000; atMs < 60_000; atMs += 4_000) {
      place.note({ replicas: 1, position: 0 }, atMs);
      place.note(undefined, atMs + 2_000);
    }
    expect(place.current).toMatchObject({ replicas: 2, position: 1 });
    for (let atMs = 60_000; atMs <= 70_000; atMs += 2_000) place.note({ replicas: 1, position: 0 }, atMs);
    expect(place.current).toMatchObject({ replicas: 1, position: 0 });
  });
});

describe('a check by a share', () => {
  const check = { key: 'k', requestId: 'r', costKind: CostKind.REQUEST_AND_TOKENS };
  const place = { replicas: 3, position: 0 };
  const byShare = (given: Parameters<typeof checkByShare>[0]) =>
    checkByShare(given, place, ({ key }, limit) => (key === 'g' ? limit : limit - 3));

  it('has its part of what must not be exceeded at any instant, and all of the rest', () => {
    const limits = { requestsPerMinute: 10, concurrentRequests: 4, tokensPerDay: 100 };
    const shared = { requestsPerMinute: 7, concurrentRequests: 2, tokensPerDay: 100 };
    expect(byShare({ ...check, limits, group: { key: 'g', limits } })).toEqual({
      ...{ ...check, place, limits: shared },
      group: { key: 'g', limits: { ...shared, requestsPerMinute: 10 } },
    });
  });

  it('has no limit that was not set', () => {
    const none = { requestsPerMinute: undefined, concurrentRequests: undefined };
    expect(byShare({ ...check, limits: {} })).toEqual({ ...check, place, limits: none });
    expect(byShare(check)).toEqual({ ...check, place, limits: undefined });
    expect(byShare(check)).not.toHaveProperty('group');
  });

  it('is answered with the whole limits, where these were checked', () => {
    const status = () => create(LimitStatusSchema, { requests: { limit: 4 }, concurrency: { limit: 2 } });
    const limits = { requestsPerMinute: 10, concurrentRequests: 4 };
    const whole = asWhole({ ...check, limits, group: { key: 'g' } }, { status: status(), groupStatus: status() });
    expect(whole.status).toMatchObject({ degraded: true, requests: { limit: 10 }, concurrency: { limit: 4 } });
    expect(whole.groupStatus).toMatchObject({ degraded: true, requests: { limit: 4 }, concurrency: { limit: 2 } });
    const bare = asWhole({ ...check, limits }, { status: create(LimitStatusSchema) }).status;
    expect([bare?.degraded, bare?.requests, bare?.concurrency]).toEqual([true, undefined, undefined]);
    expect(asWhole({ ...check, limits }, { status: undefined })).toEqual({ status: undefined });
  });
});

describe('the replicas of a group', () => {
  it('have places in the order of their names, each as long as it is not silent for ten seconds', () => {
    const groups = new ReplicaGroups();
    const placeOf = (replicaId: string, nowMs: number, lastAnsweredAtMs?: number) => {
      const { replicas, position, longestSilenceMs } = groups.note('g', replicaId, nowMs, lastAnsweredAtMs);
      return [replicas, position, longestSilenceMs];
    };
    expect(placeOf('b', 100_000)).toEqual([1, 0, 0]);
    expect(placeOf('c', 101_000)).toEqual([2, 1, 1_000]);
    expect(placeOf('a', 103_000)).toEqual([3, 0, 3_000]);
    expect(placeOf('c', 109_999)).toEqual([3, 2, 9_999]);
    expect(placeOf('c', 110_000)).toEqual([2, 1, 7_000]);
    expect(groups.note('other', 'z', 110_000)).toMatchObject({ replicas: 1, position: 0, answeredAtMs: 110_000 });
  });

  it('forget those that a clock which was set back saw too far ahead', () => {
    const groups = new ReplicaGroups();
    groups.note('g', 'a', 100_000);
    expect(groups.note('g', 'b', 90_001)).toMatchObject({ replicas: 2, longestSilenceMs: 0 });
    expect(groups.note('g', 'b', 90_000)).toMatchObject({ replicas: 1 });
  });

  it('count from their last answer, which is neither ahead nor so long ago that they would not count', () => {
    const groups = new ReplicaGroups();
    const silenceAfter = (lastAnsweredAtMs: number) =>
      groups.note('g', 'a', 100_000, lastAnsweredAtMs).longestSilenceMs;
    expect([silenceAfter(97_000), silenceAfter(100_500), silenceAfter(0)]).toEqual([3_000, 0, 9_999]);
  });
});
