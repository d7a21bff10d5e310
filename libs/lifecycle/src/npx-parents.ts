import { readFileSync } from 'node:fs';

/**
 * Whether a process between npx and this one has ended, or npx itself. npx passes signals to the
 * shell that it starts programs with; this shell ends and passes them to no one. Undefined for a
 * process that npx did not start.
 */
export function npxWatch(env: NodeJS.ProcessEnv): (() => boolean) | undefined {
  if (env.npm_lifecycle_event !== 'npx') return undefined;
  const parents = parentsUpToNpx();
  return () => parents.some((parent, index) => parent !== parentOf(parents[index - 1]));
}

/** The parent, its parent, and so on; only the parent where the system does not tell the others. */
function parentsUpToNpx(): readonly number[] {
  const parents = [process.ppid];
  // A launcher and a shell are between them.
  while (parents.length < mostParents && !isNpx(parents.at(-1))) parents.push(parentOf(parents.at(-1)));
  return isNpx(parents.at(-1)) ? parents : [process.ppid];
}

const mostParents = 5;

function isNpx(pid = 0): boolean {
  return /^(?:npm exec|npx)\b|\/npx-cli\.js\b|\/npx\0/.test(textOf(pid, 'cmdline'));
}

/** @param pid undefined for this process. */
function parentOf(pid: number | undefined): number {
  return pid === undefined ? process.ppid : Number(/^PPid:\s+(\d+)$/m.exec(textOf(pid, 'status'))?.[1]);
}

/** Empty for a process that has ended, and on a system without /proc. */
function textOf(pid: number, file: 'cmdline' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
