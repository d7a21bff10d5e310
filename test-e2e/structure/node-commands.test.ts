import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSourceTree } from './source-tree.ts';
import { repositoryRoot } from './test-references.ts';

// An older Node, which npm works with, can't run the sources: `npx node` is the installed one.

const places = [
  '*.md',
  'docs/**/*.md',
  'deploy/**/{*.md,.env.example}',
  '{libs,services}/*/README.md',
  'test-e2e/**/*.md',
];

describe('a command that runs a source', () => {
  it('is written with npx on every page', () => {
    const pages = globSync(places, { cwd: repositoryRoot, exclude: ['**/node_modules/**'] });
    expect(pages).toContain('deploy/docker/.env.example');
    const ours = pages.filter((page) => !exceptions.has(page));
    expect(ours.flatMap((page) => bareCommands(page, readFileSync(join(repositoryRoot, page), 'utf8')))).toEqual([]);
  });

  it('is written with npx in every message', async () => {
    // npm itself puts its Node first for the scripts of package.json.
    const tree = [...(await readSourceTree(repositoryRoot))];
    const sources = tree.filter(([path]) => /(?<!\.test)\.tsx?$/.test(path));
    const found = sources.flatMap(([path, text]) => bareCommands(path, text.replaceAll(/^\s*(\/\/|\*).*$/gm, '')));
    expect(found).toEqual([]);
  });

  it.each([
    ['run `node services/admin/src/main.ts`', 1],
    ['sudo node deploy/x.ts', 1],
    ['npx node deploy/x.ts', 0],
    ['nodes.ts', 0],
  ])('would be found without it: %s', (text, count) => {
    expect(bareCommands('a.md', text)).toHaveLength(count);
  });
});

/** A client's project has its own Node, and CONTRIBUTING.md says where `node` comes from. */
const exceptions: ReadonlySet<string> = new Set(['docs/limiter/clients.md', 'CONTRIBUTING.md']);

function bareCommands(place: string, text: string): readonly string[] {
  return [...text.matchAll(/(?<!npx )\bnode (?:[\w-]+\/)*[\w-]+\.ts\b/g)].map(([found]) => `${place}: ${found}`);
}
