import { describe, expect, it } from 'vitest';
import { ChainedMap } from './chained-map.ts';

describe('a chained map', () => {
  const of = (...keys: readonly string[]) => {
    const map = new ChainedMap<string>();
    for (const key of keys) map.set(key, key.toUpperCase());
    return map;
  };

  it('keeps the order in which entries were set last', () => {
    const map = of('a', 'b', 'c', 'a');
    expect([...map.values()]).toEqual(['B', 'C', 'A']);
    expect(map.oldest).toMatchObject({ key: 'b', value: 'B' });
    expect([map.size, map.has('a'), map.get('c')]).toEqual([3, true, 'C']);
  });

  it.each([
    { gone: 'a', left: ['B', 'C'] },
    { gone: 'b', left: ['A', 'C'] },
    { gone: 'c', left: ['A', 'B'] },
    { gone: 'd', left: ['A', 'B', 'C'] },
  ])('is whole without $gone', ({ gone, left }) => {
    const map = of('a', 'b', 'c');
    map.delete(gone);
    expect([...map.values()]).toEqual(left);
    map.set('e', 'E');
    expect([...map.values()]).toEqual([...left, 'E']);
    expect(map.size).toBe(left.length + 1);
  });

  it('can be emptied and used again', () => {
    const map = of('a');
    map.delete('a');
    expect([map.size, map.oldest]).toEqual([0, undefined]);
    map.set('b', 'B');
    expect(map.oldest).toMatchObject({ key: 'b' });
  });
});
