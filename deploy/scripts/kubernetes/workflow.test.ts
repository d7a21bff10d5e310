import { execFile } from 'node:child_process';
import { access, chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { podsIn } from './__fixtures__/pods.ts';
import { renderedIn, renderFolder } from './__fixtures__/rendered.ts';
import { defaultValues } from './values.ts';

const root = join(import.meta.dirname, '../../..');
const ownImage = `model-gateway:${defaultValues.image.tag}`;

describe('the workflow that installs the gateway in a cluster', () => {
  it('runs programs that are there, and needs no package', async () => {
    const text = await readFile(join(root, '.github/workflows/kubernetes.yml'), 'utf8');
    const { jobs } = z
      .looseObject({
        jobs: z.looseObject({
          install: z.looseObject({ steps: z.array(z.looseObject({ run: z.string().optional() })) }),
        }),
      })
      .parse(parse(text));
    const commands = jobs.install.steps.flatMap(({ run }) => run ?? []).join('\n');
    const paths = new Set(commands.match(/\bdeploy\/[\w./-]+\.(?:sh|ts|yaml)\b/g));
    expect(paths.size).toBeGreaterThan(2);
    for (const path of paths) await access(join(root, path));
    expect(commands).not.toMatch(/\bnpm\b/);
    const smoke = await readFile(join(root, 'deploy/scripts/gateway-smoke.ts'), 'utf8');
    expect([...smoke.matchAll(/^import .* from '(.*)';$/gm)].map(([, name]) => name)).toEqual(['node:util']);
  });

  it.each(['small', 'development'])(
    'applies the manifests of a version with its image and migration: %s',
    async (name) => {
      const form = name === 'small' ? 'small' : 'full';
      const { applied, calls } = await install([form, 'manifests', `deploy/kubernetes/overlays/${name}`]);
      const objects = renderedIn(applied);
      expect(objects.length).toBe((await renderFolder(`overlays/${name}`)).length);
      const images = podsIn(objects).flatMap(({ spec }) =>
        [...spec.initContainers, ...spec.containers].map(({ image }) => image),
      );
      expect(images).toContain(`${ownImage}-next`);
      expect(images).not.toContain(ownImage);
      const job = `migrate-${defaultValues.image.tag.replaceAll('.', '-')}-next`;
      const jobs = objects.flatMap(({ kind, name: own }) => (kind === 'Job' ? [own] : []));
      expect(jobs).toEqual(form === 'small' ? [] : [job]);
      expect(calls.includes(`kubectl wait --for=condition=complete job/${job}`)).toBe(form === 'full');
      expect(calls).toContain('kubectl rollout status statefulset/gateway');
    },
  );

  it.each(['small', 'full'])('installs the chart with that image: %s', async (form) => {
    const { calls } = await install([form, 'chart', 'deploy/kubernetes/overlays/small']);
    expect(calls).toContain(`--set form=${form},image.tag=${defaultValues.image.tag}-next`);
    expect(calls.includes('development-values.yaml --set transport=tls')).toBe(form === 'full');
    expect(calls).toContain('kubectl rollout status statefulset/gateway');
  });
});

/** Runs the script of the workflow with commands that write down how they are called. */
async function install([form = '', by = '', overlay = '']: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'workflow-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const objects = await renderFolder(overlay.replace('deploy/kubernetes/', ''));
  await writeFile(join(folder, 'rendered.yaml'), objects.map(({ document }) => stringify(document)).join('---\n'));
  for (const name of ['kubectl', 'helm']) {
    const path = join(folder, name);
    await writeFile(path, standIn(name, folder));
    await chmod(path, 0o700);
  }
  const env = { PATH: `${folder}:${process.env.PATH}` };
  const script = join(import.meta.dirname, 'install-and-wait.sh');
  await promisify(execFile)(script, [form, by, join(root, overlay), `${ownImage}-next`], { env });
  const read = (name: string) => readFile(join(folder, name), 'utf8');
  return { applied: by === 'manifests' ? await read('applied.yaml') : '', calls: await read('calls') };
}

function standIn(name: string, folder: string): string {
  return `#!/bin/sh
echo "${name} $*" >> '${folder}/calls'
case $1 in
  kustomize) cat '${folder}/rendered.yaml' ;;
  apply) cat > '${folder}/applied.yaml' ;;
  get) echo statefulset/gateway ;;
esac
`;
}
