import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Finished {
  /** Undefined if a signal ended it, or it timed out. */
  readonly exitCode: number | undefined;
  /** Both outputs, in the order of their arrival. */
  readonly printed: string;
}

/**
 * Runs commands in bash. Later commands in the same folder have the variables and the working
 * folder of earlier ones.
 */
export async function runShell(
  commands: string,
  folder: string,
  env: Readonly<Record<string, string>>,
  timeoutSeconds: number,
): Promise<Finished> {
  const script = join(folder, '.commands.sh');
  await writeFile(script, `${beginning}\n${commands}\n${end}\n`);
  // A process group of its own: processes that a block leaves running end with it.
  const child = spawn('bash', [script], {
    cwd: folder,
    env: { ...env, STATE: join(folder, '.state.sh') },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  const exitCode = await new Promise<number | undefined>((resolve, reject) => {
    const timer = setTimeout(() => {
      printed += `\n(not at an end after ${timeoutSeconds} seconds)`;
      killGroup(child.pid);
    }, timeoutSeconds * 1_000);
    child.once('error', reject).once('exit', (code) => {
      clearTimeout(timer);
      killGroup(child.pid);
      child.once('close', () => resolve(code ?? undefined));
    });
  });
  return { exitCode, printed };
}

const beginning = `set -euo pipefail
if [ -f "$STATE" ]; then . "$STATE"; fi`;

const end = `{ export -p; printf 'cd %q\\n' "$PWD"; } > "$STATE"`;

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of its processes have ended.
  }
}
