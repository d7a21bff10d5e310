import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

// `npm ci` uses this with any installed Node, before the sources can run: so it is plain
// JavaScript.

/**
 * The folder with the contents of Debian's packages: downloaded, verified by apt, and unpacked into
 * the cache. Nothing is installed and no root is needed.
 *
 * @param {string} name of the folder in the cache.
 * @param {readonly string[]} wanted
 * @param {(planned: readonly string[]) => readonly string[]} choose Chooses the packages to unpack
 * among those that apt would install. Default: all of them, which are those that this machine
 * lacks.
 * @returns {Promise<string>}
 * @throws Error if this is not Debian or a descendant, or its archive can't be reached.
 */
export async function unpackPackages(name, wanted, choose = (planned) => planned) {
  const root = join(cacheFolder(), await systemName(), name);
  if (!existsSync(root)) await unpackInto(root, wanted, choose);
  return root;
}

/**
 * The folder that keeps downloaded programs between runs. Postgres' user can't read root's home, so
 * root keeps them in the machine's cache.
 *
 * @param {NodeJS.ProcessEnv} env
 */
export function cacheFolder(env = process.env, isRoot = process.getuid?.() === 0) {
  const caches = env.XDG_CACHE_HOME || (isRoot ? '/var/cache' : join(homedir(), '.cache'));
  return join(caches, 'model-gateway', 'programs');
}

/**
 * Libraries depend on the release and the processor: a cache that machines share has a folder for
 * each.
 */
async function systemName() {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const field = (/** @type {string} */ name) => new RegExp(`^${name}="?([\\w.]+)`, 'm').exec(release)?.[1] ?? 'unknown';
  return `${field('ID')}-${field('VERSION_ID')}-${process.arch}`;
}

/**
 * Unpacks beside the target and renames, so that concurrent or interrupted runs never leave an
 * incomplete folder.
 *
 * @param {string} root
 * @param {readonly string[]} wanted
 * @param {(planned: readonly string[]) => readonly string[]} choose
 */
async function unpackInto(root, wanted, choose) {
  const parent = dirname(root);
  const unpacked = join(parent, `.${basename(root)}-${randomUUID()}`);
  const downloads = `${unpacked}.deb`;
  try {
    for (const folder of [unpacked, downloads]) await mkdir(folder, { recursive: true });
    for (const folder of [dirname(parent), parent, unpacked]) await chmod(folder, 0o755);
    const plan = await aptGet(
      ['install', '--simulate', '--reinstall', '--no-install-recommends', '--assume-yes', ...wanted],
      downloads,
    );
    const packages = choose(plannedPackages(plan));
    reportProgress(`downloading ${packages.join(', ')} from Debian's archive`);
    await aptGet(['download', ...packages], downloads);
    for (const file of await readdir(downloads)) {
      if (file.endsWith('.deb')) await execute('dpkg', ['--extract', join(downloads, file), unpacked]);
    }
    await rename(unpacked, root).catch(async (thrown) => {
      if (!existsSync(root)) throw thrown;
    });
  } finally {
    await Promise.all([unpacked, downloads].map((folder) => rm(folder, { recursive: true, force: true })));
  }
}

/**
 * The packages in the output of `apt-get install --simulate`.
 *
 * @param {string} plan
 * @returns {readonly string[]}
 */
export function plannedPackages(plan) {
  return [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
}

/** @type {Promise<readonly string[]> | undefined} */
let index;

/**
 * Runs apt-get on the system's own sources and keys, with an index of its own. apt checks the
 * signatures.
 *
 * @param {readonly string[]} parameters
 * @param {string} cwd
 */
async function aptGet(parameters, cwd) {
  index ??= readIndex();
  return runAptGet([...(await index), ...parameters], cwd);
}

/**
 * Reads the index of Debian's archive. Returns the settings with its place, which exists as long as
 * this process.
 */
async function readIndex() {
  const folder = await mkdtemp(join(tmpdir(), 'testkit-apt-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const part of ['lists/partial', 'cache/archives/partial']) await mkdir(join(folder, part), { recursive: true });
  const settings = [
    `Dir::State::lists=${folder}/lists`,
    `Dir::Cache=${folder}/cache`,
    'APT::Sandbox::User=',
    'Debug::NoLocking=1',
    'Acquire::Retries=3',
  ].flatMap((setting) => ['-o', setting]);
  reportProgress("reading the index of Debian's archive (apt-get update)");
  await runAptGet([...settings, 'update'], folder);
  return settings;
}

const execute = promisify(execFile);

/**
 * @param {readonly string[]} parameters
 * @param {string} cwd
 */
async function runAptGet(parameters, cwd) {
  const { stdout } = await execute('apt-get', parameters, {
    cwd,
    // The same as `roomMs`, for a Node that can't run the sources.
    timeout: 600_000 * Number(process.env.TEST_SLOWNESS ?? '1'),
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, LC_ALL: 'C' },
  });
  return stdout;
}

/**
 * One line about a slow step, on standard error, so that a person knows why nothing happens yet.
 *
 * @param {string} text
 */
export function reportProgress(text) {
  process.stderr.write(`testkit: ${text}\n`);
}
