import { describe, expect, it } from 'vitest';
import { fewest, shortest } from './shrink.ts';

describe('the smallest failing run', () => {
  it('has only the faults that it needs, wherever they are in the plan', async () => {
    const plan = Array.from({ length: 40 }, (_, index) => index + 1);
    for (const needed of [[7], [1, 40], [3, 20, 21], plan.slice(10, 14)]) {
      const needs = async (faults: readonly number[]) => needed.every((number) => faults.includes(number));
      expect(await fewest(plan, needs)).toEqual(needed);
    }
  });

  it('has no faults when it fails without them', async () => {
    expect(await fewest([1, 2, 3], async () => true)).toEqual([]);
  });

  it('finds a single fault in a few tries', async () => {
    let tries = 0;
    const plan = Array.from({ length: 64 }, (_, index) => index + 1);
    await fewest(plan, async (faults) => {
      tries += 1;
      return faults.includes(50);
    });
    expect(tries).toBeLessThan(20);
  });

  it('ends soon after its failure', async () => {
    const hours = await shortest(24, async (tried) => tried >= 0.5);
    expect(hours).toBeGreaterThanOrEqual(0.5);
    expect(hours).toBeLessThan(0.6);
  });
});
