import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const installTimeoutMs = 10 * 60_000;

/**
 * A Python environment with these packages from PyPI. An existing one with these versions is used.
 * @throws Error of Python or pip.
 */
export async function pythonEnvironment(
  packages: Readonly<Record<string, string>>,
  cacheFolder: string,
): Promise<string> {
  const requirements = Object.entries(packages).map(([name, version]) => `${name}==${version}`);
  const folder = join(cacheFolder, requirements[0] ?? 'python');
  const wanted = `${requirements.join('\n')}\n`;
  const stamp = join(folder, 'installed.txt');
  if ((await readFile(stamp, 'utf8').catch(() => undefined)) === wanted) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(cacheFolder, { recursive: true });
  await execute('python3', ['-m', 'venv', folder], { timeout: installTimeoutMs });
  await execute(pythonIn(folder), ['-m', 'pip', 'install', '--quiet', ...requirements], { timeout: installTimeoutMs });
  await writeFile(stamp, wanted);
  return folder;
}

/**
 * The folder with the sources of a package, which also have its tests.
 * @param environment a Python environment: the sources are kept in it
 * @throws Error of pip or tar.
 */
export async function sourcesOf(name: string, version: string, environment: string): Promise<string> {
  const folder = join(environment, 'sources', `${name}-${version}`);
  if ((await stat(folder).catch(() => undefined)) !== undefined) return folder;
  const [parent, unpacked] = [join(folder, '..'), `${folder}.new`];
  const download = ['download', '--quiet', '--no-deps', '--no-binary', name, '--dest', parent, `${name}==${version}`];
  await execute(pythonIn(environment), ['-m', 'pip', ...download], { timeout: installTimeoutMs });
  await mkdir(unpacked, { recursive: true });
  const unpack = ['-xzf', `${folder}.tar.gz`, '-C', unpacked, '--strip-components', '1'];
  await execute('tar', unpack, { timeout: installTimeoutMs });
  await rename(unpacked, folder);
  return folder;
}

export function pythonIn(environment: string): string {
  return join(environment, 'bin', 'python');
}

/** For the page: "3.11.7". */
export async function pythonVersion(): Promise<string> {
  const { stdout } = await execute('python3', ['--version']);
  return stdout.trim().replace('Python ', '');
}
