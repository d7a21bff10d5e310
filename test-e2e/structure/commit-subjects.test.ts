import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const hook = join(import.meta.dirname, '../../.githooks/commit-msg');

describe('the hook for commit subjects', () => {
  it.each([
    'limiter: reset windows that are least recently used',
    'edge-router, usage-ingest: make a check once',
    'docs/operate: say what a drain waits for',
    'bench: need no network',
    'proto: pass deadlines on',
    'Merge branch main',
    'Revert "limiter: reset windows"',
    'Release 0.2.0',
    'fixup! limiter: reset windows',
  ])('takes %j', async (subject) => {
    expect(await refusalOf(`${subject}\n\nWhy it is so.\n`)).toBe('');
  });

  it.each([
    ['Reset windows', 'names no area'],
    ['limiter reset windows', 'names no area'],
    ['Limiter: reset windows', 'names no area'],
    ['limiter: Reset windows', 'is no imperative'],
    ['limiter: resets windows', 'is no imperative'],
    ['limiter: fixed windows', 'is no imperative'],
    ['limiter: resetting windows', 'is no imperative'],
    ['limiter: reset windows.', 'ends with a full stop'],
    [`limiter: reset ${'windows '.repeat(12)}again`, 'is longer than 100 characters'],
    ['', 'names no area'],
  ])('refuses %j', async (subject, problem) => {
    expect(await refusalOf(`${subject}\n\nWhy it is so.\n`)).toContain(problem);
  });

  it('ignores the comments that git puts into the file', async () => {
    expect(await refusalOf('# On branch main\nlimiter: reset windows\n')).toBe('');
  });
});

/** The hook's objections to a message; empty if it accepts it. */
async function refusalOf(message: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'commit-message-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'COMMIT_EDITMSG');
  await writeFile(file, message);
  const { status, stderr } = spawnSync(hook, [file], { encoding: 'utf8' });
  expect(status).toBe(stderr === '' ? 0 : 1);
  return stderr;
}
