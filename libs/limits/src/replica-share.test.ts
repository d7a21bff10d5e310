import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LastKnownPlace, shareOf } from './replica-share.ts';

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
