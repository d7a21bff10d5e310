import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessReaper } from './process-reaper.ts';
import { signalTree } from './process-tree.ts';

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

/** A child process that ends with this one, even if this one crashes. It doesn't run until `restart()`. */
export class ManagedProcess implements ProcessControl {
  readonly #plan: ProcessPlan;
  readonly #reaper: ProcessReaper;
  #child: ChildProcess | undefined;
  #isEndExpected = false;

  constructor(plan: ProcessPlan, reaper: ProcessReaper) {
    this.#plan = plan;
    this.#reaper = reaper;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async restart(): Promise<void> {
    await this.stop();
    // An end at the start rejects the start; later ends call `onUnexpectedEnd`.
    this.#isEndExpected = true;
    const { name, ping } = this.#plan;
    const lines = new OutputLines(this.#plan.onLine);
    const child = await this.#spawn(lines);
    const startFailed = once(child, 'close').then(() => {
      throw new Error(`${name} ended at its start:\n${lines.latest()}`);
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
    const child = this.#child;
    if (child?.pid === undefined) return;
    const ended = this.#expectEndOf(child);
    await signalTree(child.pid, 'SIGCONT');
    child.kill(this.#plan.stopSignal);
    const timeout = new AbortController();
    const isLate = sleep(this.#plan.stopTimeoutMs, true, { signal: timeout.signal }).catch(() => false);
    const late = await Promise.race([ended.then(() => false), isLate]);
    timeout.abort();
    if (late) await this.kill();
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const ended = this.#expectEndOf(child);
    await signalTree(child.pid, 'SIGKILL');
    await ended;
  }

  async pause(): Promise<void> {
    await signalTree(this.#runningPid(), 'SIGSTOP');
  }

  async resume(): Promise<void> {
    await signalTree(this.#runningPid(), 'SIGCONT');
  }

  async #spawn(lines: OutputLines): Promise<ChildProcess> {
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
    lines.read(child);
    this.#child = child;
    this.#reaper.watch(child.pid);
    child.once('exit', (code, signal) => {
      this.#child = undefined;
      this.#reaper.watch(undefined);
      if (!this.#isEndExpected) this.#plan.onUnexpectedEnd?.(howItEnded(code, signal));
    });
    return child;
  }

  /** Keeps this process alive until then: a child by itself doesn't. */
  async #expectEndOf(child: ChildProcess): Promise<void> {
    this.#isEndExpected = true;
    child.ref();
    await once(child, 'exit');
  }

  #runningPid(): number {
    if (this.pid === undefined) throw new Error(`${this.#plan.name} doesn't run.`);
    return this.pid;
  }
}

function howItEnded(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
}

const keptLines = 60;

/** What a process prints, line by line. Keeps the latest lines for error messages. */
export class OutputLines {
  readonly #kept: string[] = [];
  readonly #onLine: ((line: string) => void) | undefined;

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Reads both outputs of a child, without keeping this process alive for it. */
  read(child: ChildProcess): void {
    for (const output of [child.stdout, child.stderr]) {
      if (output === null) continue;
      createInterface({ input: output, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => this.#add(line));
      if (output instanceof Socket) output.unref();
    }
  }

  latest(): string {
    return this.#kept.join('\n');
  }

  #add(line: string): void {
    this.#kept.push(line);
    if (this.#kept.length > keptLines) this.#kept.shift();
    this.#onLine?.(line);
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
