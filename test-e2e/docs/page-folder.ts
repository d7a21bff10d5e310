import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url));

/** What a clone has that a page's folder must not share: settings and data of whoever runs the tests. */
const notShared = ['.git', '.env', 'data'];

/** A folder for the blocks of one page, which is home and working folder to them. */
export interface PageFolder extends AsyncDisposable {
  readonly path: string;
  /** Writes a file that a block is; `~` is the folder. */
  write(name: string, text: string): Promise<string>;
}

/** @param kind `clone`: all that a clone has is there after `npm ci`. `empty`: nothing is. */
export async function makePageFolder(kind: 'clone' | 'empty'): Promise<PageFolder> {
  const path = await mkdtemp(join(tmpdir(), 'gateway-page-'));
  if (kind === 'clone') {
    const names = (await readdir(repositoryRoot)).filter((name) => !notShared.includes(name));
    await Promise.all(names.map((name) => symlink(join(repositoryRoot, name), join(path, name))));
  }
  // curl ends with an error when the answer is one.
  await writeFile(join(path, '.curlrc'), 'fail-with-body\nno-progress-meter\nmax-time = 30\n');
  return {
    path,
    async write(name, text) {
      const file = join(path, name.replace(/^~\//, ''));
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, `${text}\n`);
      return file;
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
