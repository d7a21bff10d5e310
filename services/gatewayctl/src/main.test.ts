import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { versionText } from '@gateway/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const program = join(import.meta.dirname, '../bin/gatewayctl');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatewayctl-bin-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Starts it as npx does: by a link, with any Node in the PATH. */
async function run(...args: readonly string[]) {
  const link = join(folder, 'gatewayctl');
  await symlink(program, link);
  const env = { PATH: '/usr/bin:/bin', HOME: folder, PORT: '2', ADMIN_PORT: '1', GATEWAY_DATA: folder };
  return await promisify(execFile)(link, args, { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Record<'code' | 'stdout' | 'stderr', unknown>) => ({ code, stdout, stderr }),
  );
}

describe('the program gatewayctl', () => {
  it('finds its Node, and prints nothing but its answer', async () => {
    expect(await run('--version')).toEqual({ code: 0, stdout: versionText('gatewayctl'), stderr: '' });
  });

  it.each([
    ['an unknown command', ['tokens'], 2, /unknown command 'tokens'/],
    ['an unknown flag', ['token', 'list', '--jsn'], 2, /unknown option '--jsn'.*gatewayctl token list --help/s],
    ['a gateway that is away', ['system', 'status'], 1, /nothing answers at http:\/\/127\.0\.0\.1:1 /],
  ])('ends with an exit code for %s', async (_what, args, code, says) => {
    const ended = await run(...args);
    expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(says) });
  });

  it('ends as without a pipe when the reader of its notes has gone', async () => {
    const env = { PATH: '/usr/bin:/bin', HOME: folder, GATEWAY_ADMIN_URL: 'http://127.0.0.1:1' };
    const child = spawn(program, ['system', 'status'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stderr.destroy();
    expect(await once(child, 'exit')).toEqual([1, null]);
    const help = spawn(program, ['--help'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    help.stdout.destroy();
    expect(await once(help, 'exit')).toEqual([0, null]);
  });

  it('fails when its output cannot be written', async () => {
    const readOnly = [openSync(program, 'r'), 'EBADF'] as const;
    const full = process.platform === 'linux' ? [[openSync('/dev/full', 'w'), 'ENOSPC'] as const] : [];
    for (const [output, cause] of [readOnly, ...full]) {
      const env = { PATH: '/usr/bin:/bin', HOME: folder };
      const child = spawn(program, ['--help'], { env, stdio: ['ignore', output, 'pipe'] });
      const said = child.stderr && text(child.stderr);
      expect(await once(child, 'exit')).toEqual([1, null]);
      expect(await said).toContain(`the output can't be written: ${cause}`);
    }
  });
});
