import { readFile } from 'node:fs/promises';
import { runCommand } from '../programs/run-command.ts';

/** Sends a signal to a process and its children. It is frozen first, so that none is born meanwhile. */
export async function signalTree(pid: number, signal: NodeJS.Signals): Promise<void> {
  send(pid, 'SIGSTOP');
  for (const member of [...(await childrenOf(pid)), pid]) send(member, signal);
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const list = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() =>
    // Systems without /proc; pgrep fails when there are no children.
    runCommand('pgrep', ['-P', String(pid)], { timeoutMs: 5_000 }).catch(() => ''),
  );
  return list.split(/\s+/).filter(Boolean).map(Number);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (thrown) {
    const isGone = thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH';
    if (!isGone) throw thrown;
  }
}
