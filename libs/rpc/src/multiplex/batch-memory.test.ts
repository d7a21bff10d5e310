import { expect, it } from 'vitest';
import { BatchMemory } from './batch-memory.ts';

const large = 256 * 1024;

it('lends memory again that was given back, and none twice at a time', () => {
  const memory = new BatchMemory(large);
  const [one, two] = [memory.take(large), memory.take(large)];
  expect(one).toHaveLength(large);
  expect(two?.buffer).not.toBe(one?.buffer);
  memory.giveBack(one);
  expect(memory.take(large)).toBe(one);
  expect(memory.take(large)).not.toBe(one);
});

it('has none for small batches', () => {
  expect(new BatchMemory(large).take(1_000)).toBeUndefined();
});

it('keeps little of what was needed at once', () => {
  const memory = new BatchMemory(large);
  const lent = Array.from({ length: 5 }, () => memory.take(large));
  for (const each of lent) memory.giveBack(each);
  const again = lent.map(() => memory.take(large));
  expect(again.filter((each) => lent.includes(each))).toHaveLength(2);
});
