import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * A shell that outlives this process by a moment: when this process has ended, in whatever way, it kills the process
 * that it watches and removes its folder. It learns of the end by the end of its own input, which no crash can prevent.
 */
export class ProcessReaper {
  readonly #shell: ChildProcess;

  constructor(folder?: string) {
    this.#shell = spawn('sh', ['-c', script, 'testkit-process-reaper', ...(folder === undefined ? [] : [folder])], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Ctrl-C in a terminal reaches the whole group of processes in front: this one must live on.
      detached: true,
    });
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
  }

  /** Names the process to kill; undefined when there is none. */
  watch(pid: number | undefined): void {
    this.#shell.stdin?.write(`${pid ?? ''}\n`);
  }

  /** Does its work now. */
  async dismiss(): Promise<void> {
    this.#shell.ref();
    const ended = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    if (this.#shell.exitCode === null && this.#shell.signalCode === null) await ended;
  }
}

/** Children are named too: a Postgres backend that is frozen doesn't notice that its server is gone. */
const script = `
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then kill -KILL "$pid" $(cat "/proc/$pid/task/$pid/children"); fi
if [ -n "$1" ]; then rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }; fi
`;
