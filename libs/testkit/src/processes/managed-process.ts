import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessReaper } from './process-reaper.ts';
import { sendSignal, signalTree } from './process-tree.ts';

/** How a process is started, known to be ready, and stopped. */
export interface ProcessPlan {
  readonly name: string;
  readonly command: string;
  readonly parameters: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** User and group to run as; undefined means this process' own. */
  readonly uid?: number | undefined;
  /** Asks it to end in an orderly way. */
  readonly stopSignal: NodeJS.Signals;
  /** It is killed when it has not ended so long after that signal. */
  readonly stopTimeoutMs: number;
  /** Resolves when it answers; throws as long as it doesn't. */
  readonly ping: () => Promise<void>;
  /** Is given every line that it prints. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Called after an unexpected end, with text such as "ended with code 1". */
  readonly onUnexpectedEnd?: ((how: string) => void) | undefined;
}

/** What can be done to a process from outside. */
export interface ProcessControl {
  /** Undefined while it doesn't run. */
  readonly pid: number | undefined;
  /** Ends it in an orderly way. What it has on disk stays. */
  stop(): Promise<void>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Freezes it: connections stay open, nothing answers. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Starts it again as it was started first; stops it before, if it runs. Resolves when it is ready. */
  restart(): Promise<void>;
}

/**
 * A child process that ends with this one, even if this one crashes. It doesn't run until `restart()`, unless another process
 * started it before and gives its pid.
 */
export class ManagedProcess implements ProcessControl {
  readonly #plan: ProcessPlan;
  readonly #reaper: ProcessReaper;
  #child: ChildProcess | undefined;
  #adoptedPid: number | undefined;
  #isEndExpected = false;

  constructor(plan: ProcessPlan, reaper: ProcessReaper, adoptedPid?: number) {
    this.#plan = plan;
    this.#reaper = reaper;
    this.#adoptedPid = adoptedPid;
  }

  get pid(): number | undefined {
    return this.adoptedPid ?? this.#child?.pid;
  }

  /** The process that another one started, as long as it runs: later its number may be given to another process. */
  get adoptedPid(): number | undefined {
    if (this.#adoptedPid !== undefined && !sendSignal(this.#adoptedPid, 0)) this.#adoptedPid = undefined;
    return this.#adoptedPid;
  }

  async restart(): Promise<void> {
    await this.stop();
    // An end at the start rejects the start; later ends call `onUnexpectedEnd`.
    this.#isEndExpected = true;
    const { name, ping, onLine } = this.#plan;
    const latestLines: string[] = [];
    const child = await this.#spawn((line) => {
      latestLines.push(line);
      if (latestLines.length > keptLines) latestLines.shift();
      onLine?.(line);
    });
    const startFailed = once(child, 'close').then(() => {
      throw new Error(`${name} ended at its start:\n${latestLines.join('\n')}`);
    });
    try {
      await untilReady(name, ping, startFailed, 60_000);
    } catch (thrown) {
      await this.kill();
      throw thrown;
    }
    this.#isEndExpected = false;
    startFailed.catch(() => undefined);
  }

  async stop(): Promise<void> {
    const { pid } = this;
    if (pid === undefined) return;
    const late = new AbortController();
    const ended = this.#end(pid, late.signal);
    await signalTree(pid, 'SIGCONT');
    sendSignal(pid, this.#plan.stopSignal);
    const timer = setTimeout(() => late.abort(), this.#plan.stopTimeoutMs);
    const hasEnded = await ended;
    clearTimeout(timer);
    if (!hasEnded) await this.kill();
  }

  async kill(): Promise<void> {
    const { pid } = this;
    if (pid === undefined) return;
    const ended = this.#end(pid, AbortSignal.timeout(killedWithinMs));
    await signalTree(pid, 'SIGKILL');
    if (!(await ended)) throw new Error(`${this.#plan.name} does not end.`);
  }

  async pause(): Promise<void> {
    await signalTree(this.#runningPid(), 'SIGSTOP');
  }

  async resume(): Promise<void> {
    await signalTree(this.#runningPid(), 'SIGCONT');
  }

  async #spawn(onLine: (line: string) => void): Promise<ChildProcess> {
    const { command, parameters, cwd, env, uid } = this.#plan;
    const child = spawn(command, [...parameters], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C in a terminal is for this process, which stops the others in their order.
      detached: true,
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    await once(child, 'spawn');
    child.unref();
    readLines(child, onLine);
    this.#child = child;
    this.#reaper.watch(child.pid);
    child.once('exit', (code, signal) => {
      this.#child = undefined;
      this.#reaper.watch(undefined);
      if (!this.#isEndExpected) this.#plan.onUnexpectedEnd?.(howItEnded(code, signal));
    });
    return child;
  }

  /** Whether the process ends before the signal is aborted. Keeps this process alive until then: a child by itself doesn't. */
  async #end(pid: number, signal: AbortSignal): Promise<boolean> {
    this.#isEndExpected = true;
    const child = this.#child;
    child?.ref();
    while (child === undefined ? sendSignal(pid, 0) : this.#child === child) {
      if (signal.aborted) return false;
      const pause = sleep(10, undefined, { signal }).catch(() => undefined);
      await (child === undefined ? pause : once(child, 'exit', { signal }).catch(() => undefined));
    }
    return true;
  }

  #runningPid(): number {
    if (this.pid === undefined) throw new Error(`${this.#plan.name} doesn't run.`);
    return this.pid;
  }
}

const killedWithinMs = 10_000;

function howItEnded(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
}

/** Of what a process printed, these many lines are in the error of a failed start. */
const keptLines = 60;

/** Reads both outputs of a child line by line, without keeping this process alive for it. */
function readLines(child: ChildProcess, onLine: (line: string) => void): void {
  for (const output of [child.stdout, child.stderr]) {
    if (output === null) continue;
    createInterface({ input: output, crlfDelay: Number.POSITIVE_INFINITY }).on('line', onLine);
    if (output instanceof Socket) output.unref();
  }
}

/** Asks again and again until `ping` resolves. `failed` rejects when there is nothing left to wait for. */
export async function untilReady(
  name: string,
  ping: () => Promise<void>,
  failed: Promise<never>,
  timeoutMs: number,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 200)) {
    try {
      return await Promise.race([ping(), failed]);
    } catch (thrown) {
      await Promise.race([sleep(pauseMs), failed]);
      if (performance.now() > deadlineMs) {
        const reason = thrown instanceof Error ? thrown.message : String(thrown);
        throw new Error(`${name} was not ready within ${timeoutMs / 1_000} s: ${reason}`, { cause: thrown });
      }
    }
  }
}
