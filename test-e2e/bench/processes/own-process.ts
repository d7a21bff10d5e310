import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface OwnProcessOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Whether it has a channel for messages. */
  readonly ipc?: boolean;
  readonly stopSignal?: NodeJS.Signals;
}

/** A process that ends with the bench, even if the bench crashes. */
export class OwnProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly #stopSignal: NodeJS.Signals;
  readonly #reaper: ChildProcess;
  #output = '';

  static async start(
    command: string,
    parameters: readonly string[],
    options: OwnProcessOptions = {},
  ): Promise<OwnProcess> {
    const child = spawn(command, parameters, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe', ...(options.ipc === true ? (['ipc'] as const) : [])],
      // Only the bench handles Ctrl-C in a terminal, and stops the others in order.
      detached: true,
    });
    await once(child, 'spawn');
    return new OwnProcess(child, options.stopSignal ?? 'SIGTERM');
  }

  private constructor(child: ChildProcess, stopSignal: NodeJS.Signals) {
    this.child = child;
    this.#stopSignal = stopSignal;
    this.#reaper = reaperOf(this.pid);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-8_192);
      });
    }
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The end of its output. */
  get output(): string {
    return this.#output;
  }

  /** Its next message. */
  async message(): Promise<unknown> {
    const ended = new AbortController();
    const onExit = () => ended.abort(new Error(`A process of the bench ended:\n${this.output}`));
    this.child.once('exit', onExit);
    try {
      const [message] = await once(this.child, 'message', { signal: ended.signal });
      return message;
    } catch (thrown) {
      throw ended.signal.aborted ? ended.signal.reason : thrown;
    } finally {
      this.child.off('exit', onExit);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) {
      const ended = once(this.child, 'exit');
      this.child.kill(this.#stopSignal);
      const force = setTimeout(() => this.child.kill('SIGKILL'), 15_000);
      await ended;
      clearTimeout(force);
    }
    this.#reaper.stdin?.end('done\n');
  }
}

/**
 * A shell that kills the process if the bench ends without stopping it: it notices by the end of
 * its own input.
 */
function reaperOf(pid: number): ChildProcess {
  const script = `read -r word; [ "$word" = done ] || kill -KILL -- -${pid}`;
  const shell = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  shell.stdin?.on('error', () => undefined);
  shell.unref();
  return shell;
}
