import { describe, expect, it } from 'vitest';
import { KeptSettles } from './kept-settles.ts';
import type { Settlement } from './limit-store.ts';

const settlement = (requestId: string, more: Partial<Settlement> = {}): Settlement => ({
  ...{ key: 'k', requestId, localDay: '2026-11-20', tokens: 1 },
  ...more,
});

function setUp(maxKept = 10_000) {
  const kept = new KeptSettles(maxKept);
  const replayed: string[] = [];
  const replay = (refused: (requestId: string) => boolean = () => false) =>
    kept.replay(async ({ requestId }) => {
      replayed.push(requestId);
      if (refused(requestId)) throw new Error('refused');
    });
  return { kept, replay, replayed };
}

describe('settles that are kept', () => {
  it('are replayed once each, the oldest first, the last version of each', async () => {
    const { kept, replay, replayed } = setUp();
    for (const requestId of ['a', 'b', 'a']) kept.keep(settlement(requestId));
    kept.keep(settlement('a', { key: 'other' }));
    kept.keep(settlement('a', { localDay: '2026-11-21' }));
    expect(kept.size).toBe(4);
    await replay();
    expect(replayed).toEqual(['a', 'b', 'a', 'a']);
    await replay();
    expect([replayed.length, kept.size]).toEqual([4, 0]);
  });

  it('are at most as many as may be kept: the oldest gives way', async () => {
    const { kept, replay, replayed } = setUp(2);
    for (const requestId of ['a', 'b', 'c']) kept.keep(settlement(requestId));
    expect(kept.size).toBe(2);
    await replay();
    expect(replayed).toEqual(['b', 'c']);
  });

  it('hold up no others when the remote rejects some, and stay for the next time', async () => {
    const { kept, replay, replayed } = setUp();
    for (let n = 0; n < 1_200; n++) kept.keep(settlement(`r${n}`));
    await replay((requestId) => requestId !== 'r3' && requestId !== 'r777' && requestId !== 'r1100');
    expect([replayed.length, kept.size]).toEqual([1_200, 1_197]);
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
    expect(replayed).toEqual([{ ...settlement('a'), late: true }]);
  });
});
