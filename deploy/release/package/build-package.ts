import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPrograms } from '../../scripts/build-programs.ts';

// Makes the package that starts the gateway on a machine without a clone:
//
//   npm run build:package [-- <folder>]
//   npx ./model-gateway-<version>.tgz
//
// It has the programs of the image, the console, and a commented gateway.yaml. Node comes as an
// optional package for the platform. The same sources give the same bytes: npm sorts the files of a
// package, and gives all of them the same time.

const repository = join(import.meta.dirname, '../../..');

if (import.meta.main) {
  const { file, bytes, sha256 } = await buildPackage(process.argv[2] ?? join(repository, 'dist-package'));
  process.stdout.write(`${file}\n${(bytes / 1e6).toFixed(1)} MB, sha256:${sha256}\n`);
}

export interface BuiltPackage {
  /** The path of the tarball. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** @param folder is replaced. The console must be built. */
export async function buildPackage(folder: string): Promise<BuiltPackage> {
  rmSync(folder, { recursive: true, force: true });
  const content = join(folder, 'content');
  mkdirSync(join(content, 'bin'), { recursive: true });
  await buildPrograms(join(content, 'programs'));
  cpSync(join(import.meta.dirname, 'launcher.js'), join(content, 'bin/model-gateway.js'));
  for (const name of ['gateway.yaml', 'README.md']) cpSync(join(import.meta.dirname, name), join(content, name));
  cpSync(join(repository, 'LICENSE'), join(content, 'LICENSE'));
  writeFileSync(join(content, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: content,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const name = nameIn(packed);
  const bytes = readFileSync(join(folder, name));
  return { file: join(folder, name), bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The root's, without what only a clone needs. */
function manifest() {
  const { name, version, license, description, optionalDependencies }: Readonly<Record<string, unknown>> = JSON.parse(
    readFileSync(join(repository, 'package.json'), 'utf8'),
  );
  return {
    ...{ name, version, license, description },
    type: 'module',
    bin: { 'model-gateway': 'bin/model-gateway.js', gatewayctl: 'bin/model-gateway.js' },
    engines: { node: '>=20.19' },
    optionalDependencies,
  };
}

/** npm answers with a list or, since version 12, with members by package. */
function nameIn(packed: string): string {
  const [found]: readonly { readonly filename?: unknown }[] = Object.values(JSON.parse(packed));
  if (typeof found?.filename !== 'string') throw new Error('npm pack names no file.');
  return found.filename;
}
