import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeDebianRoot, networkEnvironment } from './debian-root.ts';

interface Finished {
  readonly exitCode: number | null;
  /** Standard output, then standard error. */
  readonly output: string;
}

/**
 * The smallest Debian in a folder, with a copy of this repository in its `/src`. Commands run with
 * that folder as their root.
 */
export class BareMachine implements AsyncDisposable {
  readonly #root: string;
  /** The user that owns the repository and runs the commands. 0: root. */
  readonly #userId: number;

  private constructor(root: string, userId: number) {
    this.#root = root;
    this.#userId = userId;
  }

  /** @throws Error if this machine can't do it. */
  static async make(userId: number): Promise<BareMachine> {
    if (process.getuid?.() !== 0) throw new Error('Only root can make a Debian and enter it: run this test as root.');
    const machine = new BareMachine(await mkdtemp(join(tmpdir(), 'bare-machine-')), userId);
    try {
      await chmod(machine.#root, 0o755);
      await makeDebianRoot(machine.#root);
      await machine.#addFiles();
      return machine;
    } catch (thrown) {
      await machine[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** Runs a shell command in the repository, to its end. */
  async run(line: string): Promise<Finished> {
    const { ended, output } = this.#spawn(line, {});
    return { exitCode: await ended, output: output() };
  }

  /**
   * Starts a command that keeps running, and waits until its output matches. Disposing kills it
   * with all of its processes.
   */
  async start(line: string, env: Readonly<Record<string, string>>, awaited: RegExp) {
    const { child, ended, output } = this.#spawn(line, env);
    const stop = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    while (!awaited.test(output())) {
      const next = await Promise.race([once(child.stdout, 'data'), ended]);
      if (!Array.isArray(next)) throw new Error(`${line} ended with ${next}:\n${output()}`);
    }
    return { output, [Symbol.asyncDispose]: stop };
  }

  /**
   * In namespaces of its own: its mounts, and all its processes, end with it. Its first process,
   * the shell, stays root, because the kernel resets the parent-death signal of a process that
   * changes its user.
   */
  #spawn(line: string, env: Readonly<Record<string, string>>) {
    const user = `--userspec=${this.#userId}:${this.#userId}`;
    const enter = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && chroot "$@"; exit $?';
    const inside = ['sh', '-c', enter, this.#root, user, this.#root, '/usr/bin/env', '--chdir=/src', 'sh', '-c', line];
    const child = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', ...inside], {
      env: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', HOME: this.#home, ...networkEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (piece: string) => {
        printed[stream] += piece;
      });
    }
    const ended = once(child, 'close').then(([code]): number | null => code);
    return { child, ended, output: () => `${printed.stdout}${printed.stderr}` };
  }

  get #home(): string {
    return this.#userId === 0 ? '/root' : '/home/user';
  }

  /** The current repository, and the home of the user. */
  async #addFiles(): Promise<void> {
    const [home, sources] = [join(this.#root, this.#home), join(this.#root, 'src')];
    for (const folder of [home, sources]) await mkdir(folder, { recursive: true });
    const listing = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
    const list = async (...more: readonly string[]) => {
      const { stdout } = await execute('git', [...listing, ...more], { cwd: repositoryRoot, maxBuffer: 2 ** 26 });
      return stdout.split('\0').filter((path) => path !== '');
    };
    const deleted = new Set(
      (await execute('git', ['ls-files', '-z', '--deleted'], { cwd: repositoryRoot })).stdout.split('\0'),
    );
    for (const path of await list()) {
      if (!deleted.has(path)) await cp(join(repositoryRoot, path), join(sources, path));
    }
    await execute('chown', ['--recursive', `${this.#userId}:${this.#userId}`, home, sources]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
  }
}

const execute = promisify(execFile);
const repositoryRoot = join(import.meta.dirname, '../..');
