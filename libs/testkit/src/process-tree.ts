import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { roomMs } from './room/room.ts';

/**
 * Sends a signal to a process and its children, and returns their ids. It freezes the process
 * first, so that no child starts in the meantime.
 */
export async function signalTree(pid: number | undefined, signal: NodeJS.Signals): Promise<readonly number[]> {
  if (pid === undefined) return [];
  sendSignal(pid, 'SIGSTOP');
  await untilStatus(pid, (status) => isStopped(status) || hasEnded(status), stoppedWithinMs);
  const members = [...(await childrenOf(pid)), pid];
  for (const member of members) sendSignal(member, signal);
  return members;
}

const stoppedWithinMs = roomMs(10_000);

/**
 * Waits until processes have released everything: memory, files and ports.
 * @throws Error when one of them does not end in time
 */
export async function untilEnded(pids: readonly number[], timeoutMs: number): Promise<void> {
  for (const pid of pids) await untilStatus(pid, hasEnded, timeoutMs);
}

/** The CPU time that a process has used. 0 for one that has ended. */
export async function cpuSecondsOf(pid: number | undefined): Promise<number> {
  // The name of the program, in parentheses, may contain spaces.
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (stat !== '') return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  // For systems without /proc.
  const time = await promisify(execFile)('ps', ['-o', 'time=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return time.stdout.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** Of /proc, on every platform of Linux. */
const ticksPerSecond = 100;

async function untilStatus(pid: number, isReached: (status: string) => boolean, timeoutMs: number): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (let status = await statusOf(pid); !isReached(status); status = await statusOf(pid)) {
    if (performance.now() > deadlineMs) throw new Error(`After ${timeoutMs} ms process ${pid} still is:\n${status}`);
    await sleep(2);
  }
}

function isStopped(status: string): boolean {
  return /^State:\s*T/m.test(status);
}

/** A zombie, which its parent has not reaped yet, holds nothing once its threads have ended. */
function hasEnded(status: string): boolean {
  const threads = /^Threads:\s*(\d+)/m.exec(status)?.[1] ?? '1';
  return status === '' || (/^State:\s*[ZX]/m.test(status) && threads === '1');
}

/** The status of a process, one line for each item; empty when the process does not exist. */
async function statusOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/status`, 'utf8').catch(() =>
    // For systems without /proc; ps fails when the process does not exist.
    promisify(execFile)('ps', ['-o', 'state=', '-p', String(pid)]).then(
      ({ stdout }) => `State: ${stdout}`,
      () => '',
    ),
  );
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const list = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() =>
    // For systems without /proc; pgrep fails when there are no children.
    promisify(execFile)('pgrep', ['-P', String(pid)]).then(
      ({ stdout }) => stdout,
      () => '',
    ),
  );
  return list.split(/\s+/).filter(Boolean).map(Number);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH')) throw thrown;
  }
}
