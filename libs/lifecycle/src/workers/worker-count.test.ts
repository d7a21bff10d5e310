import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { parseWorkerCount } from './worker-count.ts';

it('counts workers by a number, or by the cores', () => {
  expect(parseWorkerCount('1')).toBe(1);
  expect(parseWorkerCount('16')).toBe(16);
  expect(parseWorkerCount('auto')).toBe(availableParallelism());
});

it.each(['0', '-1', '1.5', '', 'many', '257'])('takes no %j for a number of workers', (text) => {
  expect(parseWorkerCount(text)).toBeUndefined();
});
