import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findPrograms } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';

/** The Node of `node:20-slim`. */
const [nodeVersion, npmVersion] = ['20.20.2', '10.8.2'];

/**
 * Fills a folder with the smallest Debian of this machine's release, with Node 20 and its npm in
 * `/usr/local`, and with the network configuration.
 */
export async function makeDebianRoot(root: string): Promise<void> {
  await installDebian(root);
  await installNode(root);
  await copyNetworkSettings(root);
}

/** Environment variables for network access. */
export function networkEnvironment(): Readonly<Record<string, string>> {
  const names = /^(https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE)$/i;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value && names.test(name) ? [[name, value]] : [])),
  );
}

/** From the archive of this machine's own apt. */
async function installDebian(root: string): Promise<void> {
  const { folder } = await findPrograms({ name: 'debootstrap', programs: ['debootstrap'], packages: ['debootstrap'] });
  const release = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1] ?? '';
  const { archive, settings } = await readAptSettings(release);
  const env = { DEBOOTSTRAP_DIR: join(folder, '../share/debootstrap') };
  await run(join(folder, 'debootstrap'), ['--variant=minbase', release, root, archive], env);
  await writeFile(join(root, 'etc/apt/apt.conf.d/99-as-the-machine'), settings);
}

async function readAptSettings(release: string) {
  const format = ['--format', '$(RELEASE) $(COMPONENT) $(SITE)', 'Created-By: Packages'];
  const sources = await run('apt-get', ['indextargets', ...format]);
  const archive = new RegExp(`^${release} main (\\S+)$`, 'm').exec(sources)?.[1];
  if (archive === undefined) throw new Error(`apt has no source of ${release} on this machine:\n${sources}`);
  const settings = (await run('apt-config', ['dump'])).match(/^Acquire::(?!IndexTargets).*$/gm) ?? [];
  return { archive, settings: settings.map((line) => `${line}\n`).join('') };
}

async function installNode(root: string): Promise<void> {
  const name = `node-linux-${process.arch}`;
  const folder = join(root, 'usr/local');
  const packages = [`${name}@${nodeVersion}`, `npm@${npmVersion}`];
  await run('npm', ['install', '--no-save', '--ignore-scripts', '--prefix', join(root, 'tmp'), ...packages]);
  const installed = join(root, 'tmp/node_modules');
  await cp(join(installed, name, 'bin/node'), join(folder, 'bin/node'));
  await cp(join(installed, 'npm'), join(folder, 'lib/node_modules/npm'), { recursive: true });
  for (const program of ['npm', 'npx']) {
    await symlink(`../lib/node_modules/npm/bin/${program}-cli.js`, join(folder, 'bin', program));
  }
}

/** Name servers, and npm's registry and certificates. */
async function copyNetworkSettings(root: string): Promise<void> {
  const npmSetting = async (name: string) => (await run('npm', ['config', 'get', name])).trim();
  const certificates = [process.env.NODE_EXTRA_CA_CERTS, process.env.SSL_CERT_FILE, await npmSetting('cafile')];
  const files = ['/etc/resolv.conf', '/etc/hosts', ...certificates.filter((path) => path?.startsWith('/'))];
  for (const path of files) await copyIfThere(path ?? '', join(root, path ?? ''));
  await copyIfThere(await npmSetting('userconfig'), join(root, 'usr/local/etc/npmrc'));
  const registry = `registry=${await npmSetting('registry')}\n`;
  await mkdir(join(root, 'usr/local/etc'), { recursive: true });
  await writeFile(join(root, 'usr/local/etc/npmrc'), registry, { flag: 'a' });
}

async function copyIfThere(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { dereference: true }).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'ENOENT') throw thrown;
  });
}

/**
 * Returns the output of a program. It runs outside of this repository, whose settings npm would
 * use.
 */
async function run(program: string, parameters: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(program, parameters, {
    cwd: tmpdir(),
    env: { ...process.env, ...env },
    timeout: roomMs(600_000),
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}
