import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { promisify } from 'node:util';
import { dependenciesOf, readLockfile } from '../content/parts.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

/**
 * A folder for copies of the sources. It is beside `node_modules`: hard links to its files take no
 * room, but stay on one disk.
 */
export function folderForCopies(): Disposable & { readonly path: string } {
  mkdirSync(join(root, '.cache'), { recursive: true });
  const path = mkdtempSync(join(root, '.cache/release-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Copies the sources as they are here, without tests and docs, into a commit of their own. */
export async function copySources(folder: string): Promise<void> {
  const isTestOrDoc = (path: string) => /^(docs|test-e2e)\/|\.test\.ts$|\/__fixtures__\//.test(path);
  copyFiles(
    (await sources()).filter((path) => !isTestOrDoc(path)),
    folder,
  );
  const git = (...parameters: readonly string[]) => run('git', parameters, { cwd: folder, env: asOneAuthor });
  await git('init', '--quiet', '--initial-branch', 'main');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'The sources');
}

const asOneAuthor = {
  PATH: process.env.PATH,
  ...{ GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  ...{ GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@example.com', GIT_AUTHOR_DATE: '2026-01-02T03:04:05Z' },
  ...{ GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@example.com', GIT_COMMITTER_DATE: '2026-01-02T03:04:05Z' },
};

/** Copies only what a stage of the Dockerfile has when it runs its command. */
export async function copyForImage(folder: string, copied: readonly string[]): Promise<void> {
  const rules = readFileSync(join(root, 'deploy/docker/Dockerfile.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const isCopied = (path: string) => copied.some((place) => path === place || path.startsWith(`${place}/`));
  copyFiles(
    (await sources()).filter((path) => isCopied(path) && isInContext(path, rules)),
    folder,
  );
}

/** Docker's rule: the last line that matches a file or a folder above it decides. */
function isInContext(path: string, rules: readonly string[]): boolean {
  const folders = path.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'));
  const last = rules.findLast((rule) => folders.some((each) => matchesGlob(each, rule.replace('!', ''))));
  return last?.startsWith('!') ?? true;
}

/**
 * Hard links to the installed packages that production needs, those of workspaces included.
 *
 * @param tools further packages, with those that they need.
 */
export async function linkPackages(folder: string, tools: readonly string[]): Promise<void> {
  const { packages } = readLockfile(join(root, 'package-lock.json'));
  const linked = new Set(
    Object.entries(packages).flatMap(([path, { dev }]) =>
      path.includes('node_modules/') && dev !== true ? [path] : [],
    ),
  );
  const needed = new Set(tools.map((name) => `node_modules/${name}`));
  for (const path of needed) for (const each of dependenciesOf(packages, path)) needed.add(each);
  for (const path of needed) linked.add(path);
  // The copy of a package includes the packages inside of it. Those of other platforms are absent.
  const outermost = [...linked].filter((path) => {
    const outer = path.slice(0, path.lastIndexOf('/node_modules/'));
    return !(path.includes('/node_modules/') && linked.has(outer)) && existsSync(join(root, path));
  });
  const links = process.platform === 'darwin' ? '-Rc' : '-al';
  for (const [place, paths] of Map.groupBy(outermost, (path) => dirname(path))) {
    mkdirSync(join(folder, place), { recursive: true });
    await run('cp', [links, ...paths.map((path) => join(root, path)), join(folder, place)]);
  }
}

async function sources(): Promise<readonly string[]> {
  const parameters = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const { stdout } = await run('git', parameters, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  return stdout.split('\0').filter(Boolean);
}

function copyFiles(paths: readonly string[], folder: string): void {
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    try {
      copyFileSync(join(root, path), join(folder, path));
    } catch (error) {
      // Git lists files that were removed and are not committed yet.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  }
}
