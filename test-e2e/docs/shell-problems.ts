import { spawn } from 'node:child_process';
import { text as textOf } from 'node:stream/consumers';

/** What bash says of commands that it only reads. What a reader is to fill in, such as `<command>`, is any word. */
export async function shellProblems(commands: string): Promise<readonly string[]> {
  const bash = spawn('bash', ['-n'], { stdio: ['pipe', 'ignore', 'pipe'] });
  bash.stdin.end(`${commands.replaceAll(/<[a-z][a-z' -]*>/g, 'word')}\n`);
  const said = await textOf(bash.stderr);
  return said.split('\n').filter((line) => line !== '');
}
