import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The cores of the processes; undefined if there is only one, or no `taskset`. */
export interface Cores {
  /** The system under test with all of its processes. */
  readonly system: number;
  /** The generator, the providers and the bench itself. */
  readonly load: number;
}

/** The first two cores that this process may use. */
export function findCores(): Cores | undefined {
  try {
    const allowed = /^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
    const [system, load] = allowed.split(',').flatMap(numbersIn);
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
    return system === undefined || load === undefined ? undefined : { system, load };
  } catch {
    return undefined;
  }
}

/** Moves this process, and processes that it starts later, to a core. */
export function moveTo(core: number | undefined): void {
  if (core === undefined) return;
  execFileSync('taskset', ['-a', '-c', '-p', String(core), String(process.pid)], { stdio: 'ignore' });
}

function numbersIn(range: string): readonly number[] {
  const [from = Number.NaN, to = from] = range.split('-').map(Number);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
