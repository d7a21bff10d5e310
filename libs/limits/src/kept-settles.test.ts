import { describe, expect, it } from 'vitest';
import { KeptSettles } from './kept-settles.ts';
import type { Settlement } from './limit-store.ts';

const settlement = (requestId: string, more: Partial<Settlement> = {}): Settlement => ({
  ...{ key: 'k', requestId, localDay: '2026-11-20', tokens: 1 },
  ...more,
});

function setUp(maxKept = 10_000) {
  const seen = { dropped: 0, waiting: [] as number[] };
  const events = {
    settleDropped: () => void seen.dropped++,
    settlesWaiting: (count: number) => seen.waiting.push(count),
  };
  const kept = new KeptSettles({ maxKept, events });
  const replayed: string[] = [];
  const replay = (refused: (requestId: string) => boolean = () => false) =>
    kept.replay(async ({ requestId }) => {
      replayed.push(requestId);
      if (refused(requestId)) throw new Error('refused');
    });
  return { kept, seen, replay, replayed };
}

describe('settles that are kept', () => {
  it('are replayed once each, the oldest first, the last version of each', async () => {
    const { kept, seen, replay, replayed } = setUp();
    for (const requestId of ['a', 'b', 'a']) kept.keep(settlement(requestId));
    kept.keep(settlement('a', { key: 'other' }));
    kept.keep(settlement('a', { localDay: '2026-11-21' }));
    expect(seen.waiting).toEqual([1, 2, 2, 3, 4]);
    await replay();
    expect(replayed).toEqual(['a', 'b', 'a', 'a']);
    await replay();
    expect([replayed.length, kept.size, seen.waiting.at(-1)]).toEqual([4, 0, 0]);
  });

  it('are at most as many as may be kept: the oldest gives way, and is counted', async () => {
    const { kept, seen, replay, replayed } = setUp(2);
    for (const requestId of ['a', 'b']) kept.keep(settlement(requestId));
    expect(seen.dropped).toBe(0);
    kept.keep(settlement('c'));
    expect([seen.dropped, kept.size]).toEqual([1, 2]);
    await replay();
    expect(replayed).toEqual(['b', 'c']);
  });

  it('hold up no others when the remote rejects some, and stay for the next time', async () => {
    const { kept, seen, replay, replayed } = setUp();
    for (let n = 0; n < 1_200; n++) kept.keep(settlement(`r${n}`));
    await replay((requestId) => requestId !== 'r3' && requestId !== 'r777' && requestId !== 'r1100');
    expect([replayed.length, kept.size, seen.waiting.at(-1)]).toEqual([1_200, 1_197, 1_197]);
    await replay();
    expect([replayed.length, kept.size]).toEqual([2_397, 0]);
  });

  it('are offered 500 at a time, and no further when the remote accepts none of these', async () => {
    const { kept, replay, replayed } = setUp();
    for (let n = 0; n < 1_200; n++) kept.keep(settlement(`r${n}`));
    await replay(() => true);
    expect([replayed.length, kept.size]).toEqual([500, 1_200]);
  });

  it('are replayed as late ones: the ledger may have recorded their requests', async () => {
    const { kept } = setUp();
    kept.keep(settlement('a'));
    const replayed: Settlement[] = [];
    await kept.replay(async (late) => replayed.push(late));
    expect(replayed).toEqual([{ ...settlement('a'), isLate: true }]);
  });

  it('need no one who listens', async () => {
    const kept = new KeptSettles({ maxKept: 1, events: {} });
    for (const requestId of ['a', 'b']) kept.keep(settlement(requestId));
    await kept.replay(async () => undefined);
    expect(kept.size).toBe(0);
  });
});
