import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const repository = join(import.meta.dirname, '../../..');

const build = 'deploy/scripts/bundle-libraries.js';
const main = 'services/gatewayctl/bin/main.js';

let root: string;
let cache: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gatewayctl-libraries-'));
  cache = join(root, 'node_modules/.cache/gatewayctl-libraries');
  for (const path of ['services/gatewayctl/bin', 'services/gatewayctl/package.json', build, 'package.json']) {
    cpSync(join(repository, path), join(root, path), { recursive: true });
  }
  mkdirSync(join(root, 'node_modules'));
  for (const name of ['@bufbuild', '@connectrpc', 'commander', 'rolldown']) {
    symlinkSync(join(repository, 'node_modules', name), join(root, 'node_modules', name));
  }
  writeFileSync(join(root, 'node_modules/.package-lock.json'), 'as installed');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const run = async (file: string) =>
  (await promisify(execFile)(process.execPath, [join(root, file)], { env: {} })).stdout;

function filesInBundle(): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(join(cache, 'libraries.json'), 'utf8')).files;
}

describe('the bundle of libraries', () => {
  it('has all that they export, and every part of them that a command imports', async () => {
    expect(await run(build)).toBe('');
    const files = filesInBundle();
    for (const [name, file] of Object.entries(files)) {
      const exported = async (specifier: string) => Object.keys(await import(specifier));
      expect(await exported(join(cache, file)), name).toEqual(await exported(name));
    }
    const imported = ['libs', 'services', 'proto/gen'].flatMap((folder) => importsIn(join(repository, folder)));
    // Express serves the API in a gateway, which starts without the bundle.
    expect([...new Set(imported)].filter((name) => !(name in files))).toEqual(['@connectrpc/connect-express']);
  });

  it('is used as long as the same packages are installed, and not after another installation', async () => {
    mkdirSync(join(root, 'services/gatewayctl/src'));
    const source = "import { Command } from 'commander';\nconsole.log(typeof Command);\n";
    writeFileSync(join(root, 'services/gatewayctl/src/main.ts'), source);
    expect(await run(main)).toBe('function\n');
    await run(build);
    expect(await run(main)).toBe('function\n');
    writeFileSync(join(cache, 'commander.mjs'), "export const Command = 'of the bundle';");
    expect(await run(main)).toBe('string\n');
    writeFileSync(join(root, 'node_modules/.package-lock.json'), 'with another version');
    expect(await run(main)).toBe('function\n');
  });

  it('keeps compiled code, and never that of another source', async () => {
    mkdirSync(join(root, 'services/gatewayctl/src'));
    for (const text of ['one', 'two', 'six', 'one']) {
      const source = `const text: string = '${text}';\nconsole.log(text);\n`;
      writeFileSync(join(root, 'services/gatewayctl/src/main.ts'), source);
      expect(await run(main)).toBe(`${text}\n`);
    }
    expect(readdirSync(join(root, 'node_modules/.cache'))).toEqual(['gatewayctl']);
  });
});

/** What production code in a folder imports of the packages in the bundle. */
function importsIn(folder: string): readonly string[] {
  const sources = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.test)\.(ts|js)$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !/\/(node_modules|dist|console|testkit|test|__fixtures__)\//.test(path));
  const imports = /from ['"]((?:@bufbuild\/protobuf|@connectrpc\/[\w-]+|commander)(?:\/[\w/-]+)?)['"]/g;
  return sources.flatMap((path) => [...readFileSync(path, 'utf8').matchAll(imports)].map(([, name = '']) => name));
}
