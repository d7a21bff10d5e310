import { readFile } from 'node:fs/promises';
import { runCommand } from '../programs/run-command.ts';

/** Sends a signal to a process and its children. It is frozen first, so that none is born meanwhile. */
export async function signalTree(pid: number, signal: NodeJS.Signals): Promise<void> {
  sendSignal(pid, 'SIGSTOP');
  for (const member of [...(await childrenOf(pid)), pid]) sendSignal(member, signal);
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const list = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() =>
    // Systems without /proc; pgrep fails when there are no children.
    runCommand('pgrep', ['-P', String(pid)], { timeoutMs: 5_000 }).catch(() => ''),
  );
  return list.split(/\s+/).filter(Boolean).map(Number);
}

/** Whether there was a process to send it to. Signal 0 is not sent: it only asks. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH') return false;
    throw thrown;
  }
}
