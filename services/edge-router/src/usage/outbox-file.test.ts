import { execFile } from 'node:child_process';
import { mkdtempDisposable, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const taker = join(import.meta.dirname, '__fixtures__/file-taker.ts');

it('may be removed by its owner while another process opens it: that is no fault', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'outbox-file-'));
  const take = () => promisify(execFile)(process.execPath, [taker, folder.path, '3000']);
  const faults = await Promise.all([take(), take()]);
  expect(faults.map(({ stdout }) => stdout)).toEqual(['', '']);
  expect((await readdir(folder.path)).filter((name) => name.endsWith('.sqlite'))).toEqual([]);
});
