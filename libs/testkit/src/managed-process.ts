import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSecondsOf, signalTree, untilEnded } from './process-tree.ts';
import { roomMs } from './room/room.ts';

/** How to start a process, detect that it is ready, and stop it. */
export interface ProcessPlan {
  readonly name: string;
  readonly command: string;
  readonly parameters: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** User and group to run as; undefined: the same as this process. */
  readonly uid?: number | undefined;
  /** The signal that asks it to end. */
  readonly stopSignal: NodeJS.Signals;
  /** The time after which it is killed if it has not ended. */
  readonly stopTimeoutMs: number;
  /** Resolves when it answers; throws until then. */
  readonly ping: () => Promise<void>;
  /** How long it may take to be ready. */
  readonly startLimits?: StartLimits;
  /** Called with the reason while it is not ready. */
  readonly onWait?: (reason: string) => void;
  /** Receives every line that it prints. */
  readonly onLine?: (line: string) => void;
  /** Called after an unexpected end, with text such as "ended with code 1". */
  readonly onUnexpectedEnd?: (how: string) => void;
}

export interface StartLimits {
  /** Without any progress: it used no CPU time, printed nothing, and its ping failed as before. */
  readonly stalledMs?: number;
  readonly totalMs?: number;
}

/** The operations on a process from outside. */
export interface ProcessControl {
  /** Undefined while it is not running. */
  readonly pid: number | undefined;
  /** Stops it gracefully. Its data on disk stays. */
  stop(): Promise<void>;
  /** Kills it, like a crash. */
  kill(): Promise<void>;
  /** Freezes it: connections stay open, but nothing answers. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Starts it with its original options, after stopping it if it is running. Resolves when it is
   * ready.
   */
  restart(): Promise<void>;
}

/**
 * A child process that ends with this one, even if this one crashes. It does not run until
 * `restart()`. Disposal stops it and removes its folder, if it has one.
 */
export class ManagedProcess implements ProcessControl, AsyncDisposable {
  readonly #plan: ProcessPlan;
  readonly #reaper: Reaper;
  #child: ChildProcess | undefined;
  #isEndExpected = false;

  constructor(plan: ProcessPlan, folder?: string) {
    this.#plan = plan;
    this.#reaper = new Reaper(folder);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async restart(): Promise<void> {
    await this.stop();
    // A failure during the start rejects the start; later ends call `onUnexpectedEnd`.
    this.#isEndExpected = true;
    const { name, ping, onLine, onWait, startLimits } = this.#plan;
    const latestLines: string[] = [];
    let lines = 0;
    const child = await this.#spawn((line) => {
      lines += 1;
      latestLines.push(line);
      if (latestLines.length > keptLines) latestLines.shift();
      onLine?.(line);
    });
    const startFailed = once(child, 'close').then(() => {
      throw new Error(`${name} ended at its start:\n${latestLines.join('\n')}`);
    });
    try {
      const progress = async () => `${lines} lines, ${Math.floor(2 * (await cpuSecondsOf(child.pid)))} half seconds`;
      await untilReady(name, ping, { ...startLimits, failed: startFailed, progress, onWait });
    } catch (thrown) {
      await this.kill();
      throw thrown;
    }
    this.#isEndExpected = false;
    startFailed.catch(() => undefined);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#isEndExpected = true;
    await signalTree(child.pid, 'SIGCONT');
    child.kill(this.#plan.stopSignal);
    if (!(await this.#endsWithin(child, this.#plan.stopTimeoutMs))) await this.kill();
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#isEndExpected = true;
    const members = await signalTree(child.pid, 'SIGKILL');
    if (!(await this.#endsWithin(child, killedWithinMs))) throw new Error(`${this.#plan.name} does not end.`);
    // A starting Postgres refuses a data folder that a backend of the previous one still uses.
    await untilEnded(members, killedWithinMs);
  }

  async pause(): Promise<void> {
    await signalTree(this.#runningPid(), 'SIGSTOP');
  }

  async resume(): Promise<void> {
    await signalTree(this.#runningPid(), 'SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#reaper.dismiss();
  }

  async #spawn(onLine: (line: string) => void): Promise<ChildProcess> {
    const { command, parameters, cwd, env, uid } = this.#plan;
    const child = spawn(command, [...parameters], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C in a terminal is meant for this process, which stops the others in order.
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
      const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
      if (!this.#isEndExpected) this.#plan.onUnexpectedEnd?.(how);
    });
    return child;
  }

  /** Keeps this process alive until the child ends; a child alone does not. */
  async #endsWithin(child: ChildProcess, timeoutMs: number): Promise<boolean> {
    if (this.#child !== child) return true;
    child.ref();
    return once(child, 'exit', { signal: AbortSignal.timeout(timeoutMs) }).then(
      () => true,
      () => false,
    );
  }

  #runningPid(): number {
    if (this.pid === undefined) throw new Error(`${this.#plan.name} doesn't run.`);
    return this.pid;
  }
}

const killedWithinMs = roomMs(10_000);

/** How many printed lines the error of a failed start contains. */
const keptLines = 60;

interface Waiting extends StartLimits {
  /** Rejects when there is nothing left to wait for. */
  readonly failed?: Promise<never>;
  /** Its answer changes while there is progress. */
  readonly progress?: () => Promise<string>;
  readonly onWait?: ((reason: string) => void) | undefined;
}

/** Calls `ping` repeatedly until it resolves, as long as there is progress. */
export async function untilReady(
  name: string,
  ping: () => Promise<void>,
  {
    failed = never,
    progress = async () => '',
    onWait,
    stalledMs = roomMs(60_000),
    totalMs = 10 * stalledMs,
  }: Waiting = {},
): Promise<void> {
  const startMs = performance.now();
  let [reached, reachedMs] = ['', startMs];
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 200)) {
    try {
      return await Promise.race([ping(), failed]);
    } catch (thrown) {
      await Promise.race([sleep(pauseMs), failed]);
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      onWait?.(reason);
      const now = `${reason} ${await progress()}`;
      const nowMs = performance.now();
      if (now !== reached) [reached, reachedMs] = [now, nowMs];
      const isStalled = nowMs - reachedMs > stalledMs;
      if (!isStalled && nowMs - startMs <= totalMs) continue;
      const seconds = (ms: number) => `${ms / 1_000} s`;
      const limit = isStalled
        ? `made no progress for ${seconds(stalledMs)}`
        : `was not ready within ${seconds(totalMs)}`;
      throw new Error(`${name} ${limit}: ${reason}`, { cause: thrown });
    }
  }
}

const never = Promise.withResolvers<never>().promise;

/** Reads both outputs of a child line by line, without keeping this process alive. */
function readLines(child: ChildProcess, onLine: (line: string) => void): void {
  for (const output of [child.stdout, child.stderr]) {
    if (output === null) continue;
    createInterface({ input: output, crlfDelay: Number.POSITIVE_INFINITY }).on('line', onLine);
    if (output instanceof Socket) output.unref();
  }
}

/**
 * A shell that briefly outlives this process. When this process ends, in whatever way, it kills the
 * watched process and removes its folder. It detects the end by the end of its own input, which no
 * crash can prevent.
 */
class Reaper {
  readonly #shell: ChildProcess;

  constructor(folder?: string) {
    this.#shell = spawn('sh', ['-c', reaperScript, 'testkit-reaper', ...(folder === undefined ? [] : [folder])], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Ctrl-C in a terminal reaches the whole foreground process group, but this shell must
      // survive it.
      detached: true,
    });
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
  }

  /** Sets the process to kill; undefined when there is none. */
  watch(pid: number | undefined): void {
    this.#shell.stdin?.write(`${pid ?? ''}\n`);
  }

  /** Kills the process and removes its folder now. */
  async dismiss(): Promise<void> {
    this.#shell.ref();
    const ended = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    if (this.#shell.exitCode === null && this.#shell.signalCode === null) await ended;
  }
}

/**
 * Children are killed by id too: a frozen Postgres backend does not notice that its server is gone.
 */
const reaperScript = `
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then kill -KILL "$pid" $(cat "/proc/$pid/task/$pid/children"); fi
if [ -n "$1" ]; then rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }; fi
`;
