import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url));

/** Files of a clone that a page's folder must not share: settings and data of the developer. */
const notShared = ['.git', '.env', 'data'];

/** A folder for the blocks of one page, which is their home and working folder. */
export interface PageFolder extends AsyncDisposable {
  readonly path: string;
  /** Writes the file of a block; `~` is the folder. */
  write(name: string, text: string): Promise<string>;
}

/** @param kind `clone`: has all files of a clone after `npm ci`. `empty`: has no files. */
export async function makePageFolder(kind: 'clone' | 'empty'): Promise<PageFolder> {
  const path = await mkdtemp(join(tmpdir(), 'gateway-page-'));
  if (kind === 'clone') {
    const names = (await readdir(repositoryRoot)).filter((name) => !notShared.includes(name));
    await Promise.all(names.map((name) => symlink(join(repositoryRoot, name), join(path, name))));
  }
  // curl exits with an error if the answer is one.
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
