import { execFile } from 'node:child_process';
import { join } from 'node:path';

const program = join(import.meta.dirname, 'simulate.ts');

export interface FailingRun {
  readonly seed: string;
  readonly hours: number;
  /** The names of the kinds of faults. */
  readonly kinds: string;
  /** The checker that must fail again. */
  readonly checker: string;
}

export interface SmallestRun {
  readonly hours: number;
  readonly faults: readonly number[];
}

/**
 * Shortens a failing run, then removes faults from its plan, as long as the same checker fails. The
 * plan of a shorter run is the start of the plan of a longer one, so the numbers stay.
 */
export async function smallestFailing(faults: readonly number[], run: FailingRun): Promise<SmallestRun> {
  const { hours } = run;
  const shorter = await shortest(hours, (tried) => fails(faults, { ...run, hours: tried }));
  const left = await fewest(faults, (tried) => fails(tried, { ...run, hours: shorter }));
  return { hours: shorter, faults: left };
}

/** About the shortest time that still fails: most failures need a small part of a long run. */
export async function shortest(hours: number, failsWithin: (hours: number) => Promise<boolean>): Promise<number> {
  let [passes, failing] = [0, hours];
  while (failing - passes > failing / 8) {
    const tried = Number(((passes + failing) / 2).toPrecision(3));
    if (await failsWithin(tried)) failing = tried;
    else passes = tried;
  }
  return failing;
}

/** Delta debugging: keeps one part, or removes one, while it still fails; parts become smaller. */
export async function fewest(
  faults: readonly number[],
  failsWith: (faults: readonly number[]) => Promise<boolean>,
): Promise<readonly number[]> {
  if (await failsWith([])) return [];
  let left = faults;
  for (let parts = 2; left.length > 1; ) {
    const size = Math.ceil(left.length / parts);
    const starts = Array.from({ length: Math.ceil(left.length / size) }, (_, part) => part * size);
    const alone = starts.map((start) => left.slice(start, start + size));
    const without = starts.map((start) => [...left.slice(0, start), ...left.slice(start + size)]);
    const fewer = await firstFailing(parts === 2 ? alone : [...alone, ...without], failsWith);
    if (fewer !== undefined) [left, parts] = [fewer, Math.max(2, Math.min(parts - 1, fewer.length))];
    else if (parts >= left.length) break;
    else parts = Math.min(left.length, parts * 2);
  }
  return left;
}

async function firstFailing(
  plans: readonly (readonly number[])[],
  failsWith: (faults: readonly number[]) => Promise<boolean>,
): Promise<readonly number[] | undefined> {
  for (const plan of plans) if (await failsWith(plan)) return plan;
  return undefined;
}

/** Whether a run with only these faults breaks the same promise. */
function fails(only: readonly number[], { seed, hours, kinds, checker }: FailingRun): Promise<boolean> {
  const options = ['--seed', seed, '--hours', String(hours), '--faults', kinds, '--no-shrink'];
  // No fault has the number 0.
  const given = [program, ...options, '--only', only.join(',') || '0'];
  return new Promise((resolve) => {
    execFile(process.execPath, given, { maxBuffer: 2 ** 28 }, (_failure, printed) => {
      resolve(printed.includes(`broken ${checker}:`));
    });
  });
}
