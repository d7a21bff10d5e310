import { expect, it } from 'vitest';
import { YieldBudget } from './yield-budget.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

it('lets a small body pass without a pause', () => {
  const budget = new YieldBudget();
  expect(budget.spend(100 * KiB)).toBeUndefined();
  expect(budget.spend(100 * KiB)).toBeUndefined();
});

it('has every body wait for the next tick of the event loop after its share of one', async () => {
  const budget = new YieldBudget();
  let others = 0;
  setImmediate(() => (others += 1));
  expect(budget.spend(255 * KiB)).toBeUndefined();
  await budget.spend(2 * KiB);
  expect(others).toBe(1);
});

it('gives large bodies one slice at a time, the same for each, and the event loop to others between any two', async () => {
  const log: string[] = [];
  let others = setImmediate(function tick() {
    log.push('-');
    others = setImmediate(tick);
  });
  const handle = async (name: string) => {
    const budget = new YieldBudget();
    // So much is not worth a pause.
    await budget.spend(2 * MiB);
    for (let megabytes = 0; megabytes < 6; megabytes++) {
      await budget.spend(MiB);
      log.push(name);
    }
  };
  await Promise.all([handle('a'), handle('b')]);
  clearImmediate(others);
  expect(log.filter((entry) => entry !== '-').join('')).toBe('abababababab');
  expect(log.join('')).not.toMatch(/[ab]{2}/);
});
