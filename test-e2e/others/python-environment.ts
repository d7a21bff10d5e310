import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
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

export function pythonIn(environment: string): string {
  return join(environment, 'bin', 'python');
}

/** For the page: "3.11.7". */
export async function pythonVersion(): Promise<string> {
  const { stdout } = await execute('python3', ['--version']);
  return stdout.trim().replace('Python ', '');
}
