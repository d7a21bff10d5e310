import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const step = z.looseObject({
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
});
const permissions = z.record(z.string(), z.enum(['read', 'write']));
const workflow = z.looseObject({
  permissions,
  jobs: z.record(
    z.string(),
    z.looseObject({
      'timeout-minutes': z.int(),
      needs: z.string().optional(),
      environment: z.string().optional(),
      permissions: permissions.optional(),
      steps: z.array(step),
    }),
  ),
});
const workflows = globSync('.github/workflows/*.yml', { cwd: root });
const stepsOf = (path: string) => Object.values(workflow.parse(parse(read(path))).jobs).flatMap(({ steps }) => steps);

describe.each(workflows)('the workflow %s', (path) => {
  const steps = stepsOf(path);
  const commands = steps.flatMap(({ run }) => run ?? []);

  it('may only read, except for jobs that say so', () => {
    expect(workflow.parse(parse(read(path))).permissions).toEqual({ contents: 'read' });
  });

  it('keeps no credentials of Git', () => {
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.length).toBeGreaterThan(0);
    for (const { with: options } of checkouts) expect(options?.['persist-credentials']).toBe(false);
  });

  it('runs scripts and programs that are there', () => {
    const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(read('package.json'));
    for (const [, name = ''] of commands.join('\n').matchAll(/\bnpm run ([\w:-]+)/g))
      expect(scripts).toHaveProperty(name);
    const named = commands.join('\n').match(/(?<![\w/])deploy\/[\w./-]+\.(?:sh|ts|yaml)\b/g) ?? [];
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('has commands that bash can read', async () => {
    for (const command of commands) await promisify(execFile)('bash', ['-n', '-c', command]);
  });

  it('leaves what others write, such as a tag, out of its commands', () => {
    for (const command of commands) expect(command).not.toMatch(/\$\{\{(?! *matrix\.)/);
  });
});

describe('the workflow that publishes a release', () => {
  const path = '.github/workflows/release.yml';
  const { jobs } = workflow.parse(parse(read(path)));
  const commandsOf = (job: string) => (jobs[job]?.steps ?? []).flatMap(({ run }) => run ?? []).join('\n');

  it('builds with the command for a dry run, of a tag, before anything is published', () => {
    expect(commandsOf('build')).toContain('npm run release -- --dry-run --tag "$TAG"');
    expect(Object.keys(jobs)).toEqual(['build', 'publish']);
    expect(jobs.publish?.needs).toBe('build');
    expect(commandsOf('publish')).not.toMatch(/npm (run|ci|install)|build-content/);
  });

  it('gives its identity only to the job that publishes, which someone approves', () => {
    const writers = Object.entries(jobs).filter(([, job]) => Object.values(job.permissions ?? {}).includes('write'));
    expect(writers.map(([name]) => name)).toEqual(['publish']);
    expect(jobs.publish?.environment).toBe('release');
  });

  it('publishes the files that the command makes, and replaces a stage that the Dockerfile has', () => {
    const named = commandsOf('publish').match(/release\/model-gateway-[\w$.-]+/g) ?? [];
    expect(new Set(named)).toEqual(
      new Set(['', 'image-', 'chart-'].map((kind) => `release/model-gateway-${kind}$VERSION.tgz`)),
    );
    const [, stage = ''] = /--build-context (\w+)=/.exec(commandsOf('publish')) ?? [];
    const dockerfile = read('deploy/docker/Dockerfile');
    expect(dockerfile).toMatch(new RegExp(`^FROM \\S+ AS ${stage}$`, 'm'));
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect([...last.matchAll(/--from=(\w+)/g)].map(([, name]) => name)).toEqual([stage, stage]);
  });
});
