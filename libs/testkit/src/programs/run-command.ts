import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export interface CommandOptions {
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** User and group to run as; only root may choose. */
  readonly uid?: number | undefined;
}

/**
 * Runs a program to its end and gives what it printed.
 *
 * @throws Error with the command and the end of its complaint, when it is missing, fails or takes too long.
 */
export async function runCommand(
  command: string,
  parameters: readonly string[],
  { timeoutMs, cwd, env, uid }: CommandOptions,
): Promise<string> {
  try {
    const { stdout } = await execute(command, [...parameters], {
      timeout: timeoutMs,
      cwd,
      env: env ?? process.env,
      maxBuffer: 64 * 1024 * 1024,
      killSignal: 'SIGKILL',
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    return stdout;
  } catch (thrown) {
    throw new Error(`${command} ${parameters.at(-1) ?? ''}: ${reasonOf(thrown, timeoutMs)}`, { cause: thrown });
  }
}

function reasonOf(thrown: unknown, timeoutMs: number): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if ('code' in thrown && thrown.code === 'ENOENT') return 'not installed';
  if ('killed' in thrown && thrown.killed === true) return `took longer than ${timeoutMs / 1_000} s`;
  const complaint = 'stderr' in thrown && typeof thrown.stderr === 'string' ? thrown.stderr.trim() : '';
  return complaint === '' ? thrown.message : complaint.slice(-600);
}

/** One line about something slow, on standard error: a person should see why nothing happens yet. */
export function reportProgress(text: string): void {
  process.stderr.write(`testkit: ${text}\n`);
}
