import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/**
 * The nginx of this machine, otherwise that of Debian's package: verified by apt and unpacked into
 * the cache, not installed.
 *
 * @throws Error if neither is available.
 */
export async function findNginx(): Promise<string> {
  const onPath = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'].map((folder) => join(folder, 'nginx'));
  const cached = join(cacheFolder(), 'nginx');
  const program = join(cached, 'usr/sbin/nginx');
  for (const path of [...onPath, program]) if (await isExecutable(path)) return path;
  await fetchInto(cached);
  return program;
}

function cacheFolder(): string {
  const caches = process.env.XDG_CACHE_HOME || (process.getuid?.() === 0 ? '/var/cache' : join(homedir(), '.cache'));
  return join(caches, 'model-gateway', 'bench');
}

/**
 * Unpacks beside the target and renames, so that an interrupted run leaves no incomplete folder.
 */
async function fetchInto(folder: string): Promise<void> {
  await mkdir(cacheFolder(), { recursive: true });
  const work = await mkdtemp(join(tmpdir(), 'bench-nginx-'));
  const unpacked = await mkdtemp(join(cacheFolder(), '.nginx-'));
  try {
    for (const part of ['lists/partial', 'cache/archives/partial']) await mkdir(join(work, part), { recursive: true });
    const settings = [
      `Dir::State::lists=${work}/lists`,
      `Dir::Cache=${work}/cache`,
      'APT::Sandbox::User=',
      'Debug::NoLocking=1',
    ].flatMap((setting) => ['-o', setting]);
    await execute('apt-get', [...settings, 'update'], { timeout: 180_000 });
    await execute('apt-get', [...settings, 'download', 'nginx'], { timeout: 180_000, cwd: work });
    await execute('sh', ['-c', 'dpkg --extract nginx_*.deb "$0"', unpacked], { timeout: 60_000, cwd: work });
    await rename(unpacked, folder);
  } finally {
    for (const each of [work, unpacked]) await rm(each, { recursive: true, force: true });
  }
}

async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
