import { expect, it } from 'vitest';
import { EventLoopYield } from './time.ts';

const KiB = 1024;

/** How often the event loop turned to other work. */
async function countIterations(work: () => Promise<void>): Promise<number> {
  let iterations = 0;
  let next = setImmediate(function count() {
    iterations += 1;
    next = setImmediate(count);
  });
  await work();
  clearImmediate(next);
  return iterations;
}

it('lets a small body pass at once', async () => {
  const bulk = new EventLoopYield();
  expect(await countIterations(() => bulk.spend(50 * KiB))).toBe(0);
});

it('yields to the event loop after every 64 KiB of a body', async () => {
  const bulk = new EventLoopYield();
  const handle = async () => {
    for (let kibibytes = 0; kibibytes < 256; kibibytes += 16) await bulk.spend(16 * KiB);
  };
  expect(await countIterations(handle)).toBe(4);
});
