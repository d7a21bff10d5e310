import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// Prepares a release in the working tree: the version in every package and manifest, and the changelog's section. Commits and publishes nothing;
// what follows is in docs/operate/releases.md.
//
//   node deploy/release/cut-release.ts <version>

const root = join(import.meta.dirname, '../..');
const [version = ''] = process.argv.slice(2);
const { version: current }: { readonly version: string } = JSON.parse(read('package.json'));
if (!/^\d+\.\d+\.\d+$/.test(version) || !isAfter(version, current)) {
  throw new Error(`Give a version after ${current}: node deploy/release/cut-release.ts <version>`);
}

const changelog = read('CHANGELOG.md');
const [, unreleased = ''] = /\n## \[Unreleased\]\n(.*?)(?=\n## \[)/s.exec(changelog) ?? [];
if (!/^- /m.test(unreleased))
  throw new Error('CHANGELOG.md has nothing under [Unreleased]: say what changes, for users and operators.');
const day = new Date().toISOString().slice(0, 10);
write('CHANGELOG.md', changelog.replace('\n## [Unreleased]\n', `\n## [Unreleased]\n\n## [${version}] - ${day}\n`));

const manifests = globSync(
  ['package.json', 'proto/package.json', '{libs,services}/*/package.json', 'test-e2e/package.json'],
  { cwd: root },
);
for (const path of manifests) {
  const own = read(path).replace(`"version": "${current}"`, `"version": "${version}"`);
  // Packages of ours depend on each other in the same version.
  write(
    path,
    own.replaceAll(new RegExp(`("@gateway/[\\w-]+": )"${current.replaceAll('.', '\\.')}"`, 'g'), `$1"${version}"`),
  );
}
execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], {
  cwd: root,
  stdio: 'inherit',
});
const guide = 'docs/operate/kubernetes.md';
write(guide, read(guide).replaceAll(current, version));
execFileSync('npm', ['run', 'generate:kubernetes'], { cwd: root, stdio: 'inherit' });
process.stdout.write(`${manifests.length} packages are ${version} now. Go on with docs/operate/releases.md.\n`);

function isAfter(next: string, before: string): boolean {
  const [a, b] = [next, before].map((text) => text.split('.').map(Number));
  const at = a?.findIndex((number, n) => number !== b?.[n]) ?? -1;
  return at >= 0 && (a?.[at] ?? 0) > (b?.[at] ?? 0);
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function write(path: string, text: string): void {
  writeFileSync(join(root, path), text);
}
