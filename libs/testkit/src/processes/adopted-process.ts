import { setTimeout as sleep } from 'node:timers/promises';
import { ManagedProcess, type ProcessControl, type ProcessPlan } from './managed-process.ts';
import type { ProcessReaper } from './process-reaper.ts';
import { signalTree } from './process-tree.ts';

/**
 * A process that another one started, by its pid. `restart()` starts it again as a child of this process. Disposing stops such a
 * child; the first process is left to the one that started it.
 */
export class AdoptedProcess implements ProcessControl, AsyncDisposable {
  readonly #plan: ProcessPlan;
  readonly #own: ManagedProcess;
  #adoptedPid: number | undefined;

  constructor(pid: number, plan: ProcessPlan, reaper: ProcessReaper) {
    this.#adoptedPid = pid;
    this.#plan = plan;
    this.#own = new ManagedProcess(plan, reaper);
  }

  get pid(): number | undefined {
    return this.#foreignPid() ?? this.#own.pid;
  }

  async stop(): Promise<void> {
    const pid = this.#foreignPid();
    if (pid === undefined) return this.#own.stop();
    await signalTree(pid, 'SIGCONT');
    send(pid, this.#plan.stopSignal);
    if (!(await endsWithin(pid, this.#plan.stopTimeoutMs))) await this.kill();
  }

  async kill(): Promise<void> {
    const pid = this.#foreignPid();
    if (pid === undefined) return this.#own.kill();
    await signalTree(pid, 'SIGKILL');
    if (!(await endsWithin(pid, killedWithinMs))) throw new Error(`${this.#plan.name} does not end.`);
  }

  async pause(): Promise<void> {
    const pid = this.#foreignPid();
    return pid === undefined ? this.#own.pause() : signalTree(pid, 'SIGSTOP');
  }

  async resume(): Promise<void> {
    const pid = this.#foreignPid();
    return pid === undefined ? this.#own.resume() : signalTree(pid, 'SIGCONT');
  }

  async restart(): Promise<void> {
    await this.stop();
    return this.#own.restart();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own.stop();
  }

  /** Forgotten once it has ended: the number may be given to another process. */
  #foreignPid(): number | undefined {
    if (this.#adoptedPid !== undefined && !isAlive(this.#adoptedPid)) this.#adoptedPid = undefined;
    return this.#adoptedPid;
  }
}

const killedWithinMs = 10_000;

async function endsWithin(pid: number, timeoutMs: number): Promise<boolean> {
  const giveUpAtMs = performance.now() + timeoutMs;
  while (isAlive(pid)) {
    if (performance.now() > giveUpAtMs) return false;
    await sleep(10);
  }
  return true;
}

function isAlive(pid: number): boolean {
  return send(pid, 0);
}

/** Whether there was a process to send it to. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH') return false;
    throw thrown;
  }
}
