import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Finished {
  /** Undefined: a signal ended it, or its time was over. */
  readonly exitCode: number | undefined;
  /** Both outputs, in the order in which they came. */
  readonly printed: string;
}

/** Runs commands in bash. The next ones in the same folder find the variables and the working folder that these leave. */
export async function runShell(
  commands: string,
  folder: string,
  env: Readonly<Record<string, string>>,
  timeoutSeconds: number,
): Promise<Finished> {
  const script = join(folder, '.commands.sh');
  await writeFile(script, `${beginning}\n${commands}\n${end}\n`);
  // A group of its own: what a block leaves running ends with it.
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
    // Nothing of it is left.
  }
}
