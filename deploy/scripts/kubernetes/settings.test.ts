import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { podsIn } from './__fixtures__/pods.ts';
import { type Rendered, renderFile, renderFolder } from './__fixtures__/rendered.ts';
import { services } from './services.ts';

const root = join(import.meta.dirname, '../../..');

/** Variables that Node itself, or gatewayctl in the pod, reads. */
const readByOthers = ['NODE_OPTIONS', 'GATEWAY_ADMIN_URL'];

describe.each(['overlays/production', 'overlays/development', 'overlays/small'])('%s', (overlay) => {
  const isSmall = overlay === 'overlays/small';
  let objects: readonly Rendered[];
  const settingsOf = new Map<string, ReadonlySet<string>>();

  beforeAll(async () => {
    objects = await renderFolder(overlay);
    for (const { name } of services) settingsOf.set(name, await settingsReadBy(name));
    // The gateway in one pod reads those of every service.
    if (isSmall) settingsOf.set('gateway', await settingsReadBy('*'));
  });

  it('sets nothing that the service does not read', () => {
    const own = podsIn(objects).filter(({ owner }) => settingsOf.has(owner));
    expect(own).toHaveLength(isSmall ? 1 : services.length);
    for (const { owner, spec } of own) {
      const names = spec.containers.flatMap(({ env }) => env.map(({ name }) => name));
      expect(names.length).toBeGreaterThan(4);
      expect(
        names.filter((name) => !readByOthers.includes(name) && !settingsOf.get(owner)?.has(name)),
        owner,
      ).toEqual([]);
    }
  });

  it('has no setting in a ConfigMap that no service reads', () => {
    const all = new Set([...settingsOf.values()].flatMap((names) => [...names]));
    const maps = objects.filter(({ kind, name }) => kind === 'ConfigMap' && name.endsWith('-settings'));
    expect(maps).toHaveLength(isSmall ? 1 : services.length + 1);
    const ofGatewayYaml = /\$\{(\w+)\}/g;
    const named = JSON.stringify(objects.find(({ name }) => name === 'gateway-config')?.document).matchAll(
      ofGatewayYaml,
    );
    const known = new Set([...all, ...[...named].map(([, name]) => name)]);
    const keys = maps.flatMap(({ document }) =>
      Object.keys(z.looseObject({ data: z.looseObject({}) }).parse(document).data),
    );
    expect(keys.filter((key) => !known.has(key))).toEqual([]);
  });
});

it('the metric that edges can be scaled on is one that they have, and without choosing it they scale by CPU', async () => {
  const [edge] = await renderFile('autoscaling-by-streams/autoscalers.yaml');
  const usual = await renderFile('autoscaling/autoscalers.yaml');
  expect(usual.length).toBe(services.length);
  for (const { document } of usual) expect(JSON.stringify(document)).not.toContain('"metric":');
  const metrics = [...JSON.stringify(edge?.document).matchAll(/"metric":\{"name":"(\w+)"\}/g)].map(([, name]) => name);
  expect(metrics).toHaveLength(1);
  expect(await readFile(join(root, 'services/edge-router/src/events.ts'), 'utf8')).toContain(`name: '${metrics[0]}'`);
});

it('the guide names every Secret that pods refer to, with its keys', async () => {
  const guide = await readFile(join(root, 'docs/operate/kubernetes.md'), 'utf8');
  const rows = guide.split('\n').filter((line) => line.startsWith('| `'));
  const pods = podsIn([...(await renderFolder('overlays/production')), ...(await renderFolder('overlays/small'))]);
  const references = pods.flatMap(({ spec }) => [
    ...[...spec.initContainers, ...spec.containers].flatMap(({ env, envFrom }) => [
      ...env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []),
      ...envFrom.flatMap(({ secretRef }) => (secretRef === undefined ? [] : { name: secretRef.name, key: '' })),
    ]),
    ...spec.volumes.flatMap(({ secret }) => (secret === undefined ? [] : { name: secret.secretName, key: '' })),
  ]);
  expect(references.length).toBeGreaterThan(20);
  for (const { name, key } of references) {
    const documented = name.endsWith('-tls') ? '<service>-tls' : name;
    expect(
      rows.some((row) => row.startsWith(`| \`${documented}\``) && row.includes(key)),
      `${name} ${key}`,
    ).toBe(true);
  }
});

/** The names of settings in the code of a service and of the libraries. */
async function settingsReadBy(service: string): Promise<ReadonlySet<string>> {
  const paths = await Array.fromAsync(glob([`services/${service}/src/**/*.ts`, 'libs/*/src/**/*.ts'], { cwd: root }));
  const sources = paths.filter((path) => !/\.test\.ts$|__fixtures__|\/(testkit|simulator)\//.test(path));
  const texts = await Promise.all(sources.map((path) => readFile(join(root, path), 'utf8')));
  const names = texts.flatMap((text) =>
    [...text.matchAll(/'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)'/g)].map(([, name = '']) => name),
  );
  return new Set(names);
}
