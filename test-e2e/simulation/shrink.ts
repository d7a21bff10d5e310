import { execFile } from 'node:child_process';
import { join } from 'node:path';

const program = join(import.meta.dirname, 'simulate.ts');

export interface FailingRun {
  /** How to repeat it with all its faults. */
  readonly options: readonly string[];
  /** The checker that must fail again. */
  readonly checker: string;
}

/**
 * Removes faults from a failing plan as long as the same checker fails: first large parts, then
 * single ones.
 */
export async function smallestFailing(faults: readonly number[], run: FailingRun): Promise<readonly number[]> {
  if (await fails([], run)) return [];
  let left = faults;
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < left.length; ) {
      const fewer = [...left.slice(0, start), ...left.slice(start + size)];
      if (fewer.length > 0 && (await fails(fewer, run))) left = fewer;
      else start += size;
    }
  }
  return left;
}

/** Whether a run with only these faults breaks the same promise. */
function fails(only: readonly number[], { options, checker }: FailingRun): Promise<boolean> {
  // No fault has the number 0.
  const given = [program, ...options, '--no-shrink', '--only', only.join(',') || '0'];
  return new Promise((resolve) => {
    execFile(process.execPath, given, { maxBuffer: 2 ** 28 }, (_failure, printed) => {
      resolve(printed.includes(`broken ${checker}:`));
    });
  });
}
