import { describe, expect, it } from 'vitest';
import { Seeded } from './seeded.ts';

const drawsOf = (seeded: Seeded, name: string) => Array.from({ length: 20 }, () => seeded.of(name).next());

describe('chance from a seed', () => {
  it('is the same for the same seed and name, and different for others', () => {
    expect(drawsOf(new Seeded(1), 'a')).toEqual(drawsOf(new Seeded(1), 'a'));
    expect(drawsOf(new Seeded(1), 'a')).not.toEqual(drawsOf(new Seeded(1), 'b'));
    expect(drawsOf(new Seeded(1), 'a')).not.toEqual(drawsOf(new Seeded(2), 'a'));
  });

  it('does not shift when another part draws more', () => {
    const seeded = new Seeded(1);
    drawsOf(seeded, 'other');
    expect(drawsOf(seeded, 'a')).toEqual(drawsOf(new Seeded(1), 'a'));
  });

  it('draws evenly, within the bounds', () => {
    const chance = new Seeded(1).of('dice');
    const dice = Array.from({ length: 6_000 }, () => chance.between(1, 6));
    for (const side of [1, 2, 3, 4, 5, 6]) expect(dice.filter((each) => each === side).length).toBeGreaterThan(900);
    expect(new Set(dice).size).toBe(6);
  });

  it('pauses with the given mean', () => {
    const chance = new Seeded(1).of('pauses');
    const pauses = Array.from({ length: 10_000 }, () => chance.pauseMs(100));
    const mean = pauses.reduce((sum, each) => sum + each, 0) / pauses.length;
    expect(mean).toBeGreaterThan(95);
    expect(mean).toBeLessThan(105);
  });
});
