import { describe, expect, it, vi } from 'vitest';
import { TickBatch } from './tick-batch.ts';

describe('a batch of a tick', () => {
  it('asks for all that one tick brought at once, and gives each its own answer', async () => {
    const askAll = vi.fn(async (items: readonly number[]) => items.map((item) => item * 10));
    const batch = new TickBatch(askAll);
    const soon = Promise.resolve().then(() => batch.ask(3));
    expect(await Promise.all([batch.ask(1), batch.ask(2), soon])).toEqual([10, 20, 30]);
    expect(askAll.mock.calls).toEqual([[[1, 2, 3]]]);
    expect(await batch.ask(4)).toBe(40);
    expect(askAll).toHaveBeenCalledTimes(2);
  });

  it('tells everyone of a failure, and goes on', async () => {
    const askAll = vi.fn(async (items: readonly number[]) => items);
    askAll.mockRejectedValueOnce(new Error('away'));
    const batch = new TickBatch(askAll);
    const outcomes = await Promise.allSettled([batch.ask(1), batch.ask(2)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await batch.ask(3)).toBe(3);
  });

  it('leaves nobody without an answer when there are too few', async () => {
    const batch = new TickBatch(async ([first]: readonly number[]) => (first === undefined ? [] : [first]));
    const outcomes = await Promise.allSettled([batch.ask(1), batch.ask(2)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
