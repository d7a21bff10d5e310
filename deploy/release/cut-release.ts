import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { changelogWith, readChangesets } from './changesets.ts';

// Prepares a release in the working tree: the next version in every package and manifest, and the
// changesets as a section of the changelog. Commits and publishes nothing; the next steps are in
// docs/operate/releases.md.
//
//   node deploy/release/cut-release.ts

const root = join(import.meta.dirname, '../..');
const current = versionIn('package.json');
const changesets = await readChangesets(root);
if (changesets.length === 0) {
  throw new Error('.changeset has nothing to release: say what changes, for users and operators (npm run changeset).');
}
// Sets the version of every package and of their dependencies on each other, and removes the
// changesets.
run(join(root, 'node_modules/.bin/changeset'), 'version');
const version = versionIn('proto/package.json');
replace('package.json', `"version": "${current}"`, `"version": "${version}"`);
const day = new Date().toISOString().slice(0, 10);
write('CHANGELOG.md', changelogWith(read('CHANGELOG.md'), changesets, version, day));
run('npm', 'install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund');
run('npm', 'run', 'tidy:lockfile');
replace('docs/operate/kubernetes.md', current, version);
run('npm', 'run', 'generate:kubernetes');
process.stdout.write(`Every package is ${version} now. Continue with docs/operate/releases.md.\n`);

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { cwd: root, stdio: 'inherit' });
}

function versionIn(path: string): string {
  const { version: found }: { readonly version: string } = JSON.parse(read(path));
  return found;
}

function replace(path: string, before: string, after: string): void {
  write(path, read(path).replaceAll(before, after));
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function write(path: string, text: string): void {
  writeFileSync(join(root, path), text);
}
