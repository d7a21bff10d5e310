import { describe, expect, it } from 'vitest';
import { waitForRequests } from './wait-for-requests.ts';

const { signal } = new AbortController();
const days = { first: '2026-11-19', last: '2026-11-21' };

/** A ledger in which one more request appears at every look. */
function growingLedger(...appearing: string[]) {
  const looks: (readonly string[])[] = [];
  return {
    looks,
    missingRequests: async (ids: readonly string[]) => {
      looks.push(ids);
      const present = appearing.slice(0, looks.length);
      return ids.filter((id) => !present.includes(id));
    },
  };
}

describe('waiting for requests', () => {
  it('ends as soon as all are in the ledger, and asks only for those that are not', async () => {
    const ledger = growingLedger('a', 'b', 'c');
    expect(await waitForRequests(ledger, ['a', 'b', 'c'], { waitMs: 60_000, signal, ...days })).toEqual([]);
    expect(ledger.looks).toEqual([['a', 'b', 'c'], ['b', 'c'], ['c']]);
  });

  it('does not look when there is nothing to wait for', async () => {
    const ledger = growingLedger();
    expect(await waitForRequests(ledger, [], { waitMs: 60_000, signal, ...days })).toEqual([]);
    expect(ledger.looks).toEqual([]);
  });

  it('has what is still gathered brought in before each look', async () => {
    const ledger = growingLedger('a', 'b');
    const looksAtFlush: number[] = [];
    const flush = async () => void looksAtFlush.push(ledger.looks.length);
    expect(await waitForRequests(ledger, ['a', 'b'], { waitMs: 60_000, signal, flush, ...days })).toEqual([]);
    expect(looksAtFlush).toEqual([0, 1]);
  });

  it('gives up after its time and names what is missing', async () => {
    const ledger = growingLedger('a');
    expect(await waitForRequests(ledger, ['a', 'never'], { waitMs: 40, signal, ...days })).toEqual(['never']);
  });

  it('stops when the caller has gone', async () => {
    const controller = new AbortController();
    const waiting = waitForRequests(growingLedger(), ['never'], { waitMs: 60_000, signal: controller.signal, ...days });
    controller.abort();
    await expect(waiting).rejects.toThrow();
  });
});
