import { availableParallelism } from 'node:os';
import { EnvReader } from '@gateway/config';
import { expect, it } from 'vitest';
import { readWorkerCount } from './worker-pool.ts';

function countOf(text: string): number {
  const reader = new EnvReader({ WORKERS: text });
  const count = readWorkerCount(reader, 'WORKERS', ' (--workers)');
  reader.done();
  return count;
}

it('counts workers by a number, or by the cores', () => {
  expect(countOf('')).toBe(1);
  expect(countOf('16')).toBe(16);
  expect(countOf('auto')).toBe(availableParallelism());
});

it.each(['0', '-1', '1.5', 'many', '257'])('takes no %j for a number of workers', (text) => {
  expect(() => countOf(text)).toThrow(`WORKERS (--workers) must be auto or a number from 1 to 256, not "${text}".`);
});
