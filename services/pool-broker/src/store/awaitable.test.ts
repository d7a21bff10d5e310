import { describe, expect, it } from 'vitest';
import { allThere, whenThere } from './awaitable.ts';

describe('answers of stores', () => {
  it('are gone on with at once when they are there, else when they come', async () => {
    expect(whenThere(2, (answer) => answer + 1)).toBe(3);
    const later = whenThere(Promise.resolve(2), (answer) => answer + 1);
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toBe(3);
  });

  it('are there together when each is, and fail with the first that fails', async () => {
    expect(allThere([1, 2])).toEqual([1, 2]);
    const mixed = allThere<number>([1, Promise.resolve(2)]);
    expect(mixed).toBeInstanceOf(Promise);
    expect(await mixed).toEqual([1, 2]);
    await expect(allThere<number>([1, Promise.reject(new Error('away'))])).rejects.toThrow('away');
  });
});
