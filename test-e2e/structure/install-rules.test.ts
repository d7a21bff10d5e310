import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { filesDuringInstall, packagesForNewerNode, typescriptDuringInstall } from './install-rules.ts';
import { importing } from './made-up-tree.ts';
import { readSourceTree, type SourceTree, violationText } from './source-tree.ts';

const root = join(import.meta.dirname, '../..');

describe('scripts of npm ci', () => {
  it('is found by the scripts of package.json, with what it imports', async () => {
    const files = filesDuringInstall(await readSourceTree(root)).map(({ file }) => file);
    expect(files.toSorted()).toEqual([
      'deploy/scripts/after-install.js',
      'deploy/scripts/bundle-libraries.js',
      'deploy/scripts/runnable-node.js',
      'libs/testkit/src/servers/debian-packages.js',
      'services/admin/console/build.js',
    ]);
  });

  it('is plain JavaScript, and runs on the oldest Node that the repository takes', async () => {
    const tree = await readSourceTree(root);
    const violations = [...typescriptDuringInstall(tree), ...packagesForNewerNode(tree, enginesOf)];
    expect(violations.map(violationText)).toEqual([]);
  });
});

describe('the rule on scripts of npm ci', () => {
  const treeWith = (files: Readonly<Record<string, string>>): SourceTree =>
    new Map(
      Object.entries({
        'package.json': JSON.stringify({
          engines: { node: '>=20.19' },
          scripts: { postinstall: '"$node" deploy/after.js', start: 'node deploy/start.ts' },
        }),
        'libs/tests/package.json': JSON.stringify({
          name: '@gateway/tests',
          exports: { '.': './src/index.ts', './plain': './src/plain.js' },
        }),
        'libs/tests/src/plain.js': '',
        'libs/tests/src/index.ts': '',
        'deploy/start.ts': importing('pg'),
        ...files,
      }),
    );

  it('takes plain JavaScript, of other packages too', () => {
    const tree = treeWith({
      'deploy/after.js': importing('./more.js'),
      'deploy/more.js': importing('@gateway/tests/plain'),
    });
    expect(typescriptDuringInstall(tree)).toEqual([]);
    expect(packagesForNewerNode(tree, () => '>=26')).toEqual([]);
  });

  it.each([
    ['./start.ts', 'deploy/start.ts'],
    ['@gateway/tests', 'libs/tests/src/index.ts'],
  ])('finds TypeScript, as %s', (specifier, file) => {
    const tree = treeWith({ 'deploy/after.js': importing('./more.js'), 'deploy/more.js': importing(specifier) });
    expect(typescriptDuringInstall(tree).map(violationText)).toEqual([
      `deploy/more.js: runs ${file} during npm ci, which old versions of Node can't`,
    ]);
  });

  it.each([
    ['>=18', true],
    ['^20.19.0 || >=22.12.0', true],
    ['>= 20.5', true],
    ['>20.18.1 <23', true],
    ['20 || 22', true],
    ['*', true],
    ['^20.20.0 || >=22.12.0', false],
    ['>=22', false],
    ['>=20.19.1', false],
    ['>=18 <20', false],
    ['^18.0.0', false],
  ])('of a package that wants Node %s says %s', (wanted, isTaken) => {
    const tree = treeWith({ 'deploy/after.js': importing('pg') });
    const problem = `deploy/after.js: imports pg during npm ci, which wants Node ${wanted}`;
    expect(packagesForNewerNode(tree, () => wanted).map(violationText)).toEqual(isTaken ? [] : [problem]);
  });
});

/** From the manifest of the installed package. */
function enginesOf(name: string): string | undefined {
  const file = join(root, 'node_modules', name, 'package.json');
  if (!existsSync(file)) return undefined;
  const manifest = z.object({ engines: z.object({ node: z.string().optional() }).optional() });
  return manifest.parse(JSON.parse(readFileSync(file, 'utf8'))).engines?.node;
}
