import { spawn } from 'node:child_process';
import { text as textOf } from 'node:stream/consumers';

/**
 * The problems that bash finds without running the commands. A placeholder such as `<command>`
 * counts as any word.
 */
export async function shellProblems(commands: string): Promise<readonly string[]> {
  const bash = spawn('bash', ['-n'], { stdio: ['pipe', 'ignore', 'pipe'] });
  bash.stdin.end(`${commands.replaceAll(/<[a-z][a-z' -]*>/g, 'word')}\n`);
  const said = await textOf(bash.stderr);
  return said.split('\n').filter((line) => line !== '');
}
