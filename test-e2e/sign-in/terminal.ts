import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';

/** A program on a terminal of its own, which `script` of util-linux provides. */
export class Terminal implements AsyncDisposable {
  readonly #program: ChildProcess;
  #shown = '';

  constructor(command: string, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
    const line = `stty cols 200 rows 60; exec ${command}`;
    this.#program = spawn('script', ['--quiet', '--flush', '--return', '--command', line, '/dev/null'], {
      ...options,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#program.stdout?.on('data', (bytes: Buffer) => {
      this.#shown += bytes.toString();
    });
  }

  /** Waits for a text after everything that was waited for before, and returns what it matches. */
  async shows(expected: RegExp): Promise<RegExpExecArray> {
    for (const giveUpAtMs = Date.now() + roomMs(30_000); Date.now() < giveUpAtMs; await sleep(50)) {
      const text = plain(this.#shown);
      const found = expected.exec(text);
      if (found === null) continue;
      this.#shown = '';
      return found;
    }
    throw new Error(`the terminal does not show ${expected}, but ${plain(this.#shown).slice(-1_000)}`);
  }

  /** Types keys one after the other, as slowly as a person does. */
  async types(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await sleep(700);
      this.#program.stdin?.write(key);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#program.exitCode !== null) return;
    this.#program.kill('SIGTERM');
    await once(this.#program, 'exit', { signal: AbortSignal.timeout(roomMs(10_000)) }).catch(() => {
      this.#program.kill('SIGKILL');
    });
  }
}

export const keys = { enter: '\r', up: '\u001b[A' } as const;

/** Without the commands to the terminal. They may split words. */
function plain(shown: string): string {
  return (
    shown
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are control characters
      .replace(/\u001b\[[0-9;?>=]*[a-zA-Z]|\u001b\][^\u0007]*\u0007|\u001b[()][A-Z0-9]/g, ' ')
      .replace(/\s+/g, ' ')
  );
}
