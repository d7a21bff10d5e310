import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { repositoryRoot } from './test-references.ts';

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');
const workflow = z
  .object({
    jobs: z.object({
      check: z.object({
        steps: z.array(z.object({ run: z.string().optional(), with: z.record(z.string(), z.unknown()).optional() })),
      }),
    }),
  })
  .parse(parse(read('.github/workflows/ci.yml')));

describe('the files that people expect of a repository', () => {
  it('are YAML where they are named so', () => {
    const files = globSync('.github/**/*.yml', { cwd: repositoryRoot });
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) expect(parse(read(file)), file).toEqual(expect.any(Object));
  });

  it('have one command for CI and for people: .ci/run', () => {
    expect(workflow.jobs.check.steps.flatMap(({ run }) => run ?? [])).toEqual(['.ci/run']);
  });

  it('name the Node that npm ci installs', () => {
    const { optionalDependencies } = z
      .object({ optionalDependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read('package.json')));
    expect([...new Set(Object.values(optionalDependencies))]).toEqual([read('.node-version').trim()]);
    expect(workflow.jobs.check.steps).toContainEqual(
      expect.objectContaining({ with: expect.objectContaining({ 'node-version-file': '.node-version' }) }),
    );
  });

  it('give owners to folders that exist', () => {
    const folders = [...read('.github/CODEOWNERS').matchAll(/^\/(\S+)/gm)].flatMap(([, folder]) => folder ?? []);
    expect(folders.length).toBeGreaterThan(3);
    expect(folders.filter((folder) => !existsSync(join(repositoryRoot, folder)))).toEqual([]);
  });
});

describe('AGENTS.md', () => {
  const text = read('AGENTS.md');

  it('names files and pages that exist', () => {
    const paths = [
      ...[...text.matchAll(/`((?:proto|libs|services|docs|deploy)\/[\w./-]*)`/g)].flatMap(([, path]) => path ?? []),
      ...[...text.matchAll(/\]\(([^)#]+)/g)].flatMap(([, path]) => path ?? []),
    ];
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !existsSync(join(repositoryRoot, path)))).toEqual([]);
  });

  it('names scripts that exist', () => {
    const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));
    const named = [...text.matchAll(/`npm run ([\w:]+)/g)].flatMap(([, name]) => name ?? []);
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it('is one page', () => {
    expect(text.split('\n').length).toBeLessThan(80);
  });
});
