import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { autoscalers, certificates, coreManifests, smallManifests } from './manifests.ts';
import { meshPatches } from './mesh-patches.ts';
import { developmentObjects, simulatorSetting } from './objects/development.ts';
import { adminIngress, httpRoute, ingress } from './objects/entrances.ts';
import type { Values } from './values.ts';
import { withHeader, yamlOf } from './yaml-text.ts';

/** Texts of files by their paths. */
export type Files = ReadonlyMap<string, string>;

// Kustomizations use only basic features of Kustomize: folders of resources and strategic merge
// patches.

/** The bases to choose from, the overlays, and examples. */
export function kustomizeFiles(values: Values): Files {
  const core = coreManifests(values, { transport: 'tls', autoscaled: true });
  const objects: readonly (readonly [string, readonly object[]])[] = [
    ...[...core].map(([name, members]) => [`base/${name}.yaml`, members] as const),
    ['base/kustomization.yaml', [kustomization({ resources: [...core.keys()].map((name) => `${name}.yaml`) })]],
    ...meshBase(values),
    ['autoscaling/autoscalers.yaml', autoscalers(values)],
    ['autoscaling/kustomization.yaml', [kustomization({ resources: ['autoscalers.yaml'] })]],
    ...autoscalingByStreams(values),
    ...smallBase(values),
    ['cert-manager/certificates.yaml', certificates()],
    ['cert-manager/kustomization.yaml', [kustomization({ resources: ['certificates.yaml'] })]],
    overlay('production', 'model-gateway', ['../../base', '../../cert-manager', '../../autoscaling'], values),
    overlay('small', 'model-gateway', ['../../small'], values),
    ...developmentOverlay(values),
    ['examples/ingress.yaml', [ingress(values)]],
    ['examples/gateway-api.yaml', [httpRoute(values)]],
    ['examples/admin-ingress.yaml', [adminIngress(values)]],
  ];
  return new Map(objects.map(([path, members]) => [path, withHeader(yamlOf(members))]));
}

/**
 * The base for a cluster whose mesh encrypts. A patch has a file of its own: not every kubectl
 * reads several from one file.
 */
function meshBase(values: Values) {
  const patches = [...meshPatches(values)].map(
    ([name, patch]) => [`${name}-without-certificates.yaml`, patch] as const,
  );
  const own = kustomization({ resources: ['../base'], patches: patches.map(([file]) => file) });
  return [
    ...patches.map(([file, patch]) => [`mesh/${file}`, [patch]] as const),
    ['mesh/kustomization.yaml', [own]] as const,
  ];
}

/** The autoscalers for a cluster whose metrics API serves the number of open streams. */
function autoscalingByStreams(values: Values) {
  const withStreams = autoscalers({ ...values, autoscaling: { ...values.autoscaling, metric: 'openStreams' } });
  const usual = new Set(autoscalers(values).map((each) => JSON.stringify(each)));
  const patches = withStreams.filter((each) => !usual.has(JSON.stringify(each)));
  return [
    ['autoscaling-by-streams/autoscalers.yaml', patches],
    [
      'autoscaling-by-streams/kustomization.yaml',
      [kustomization({ resources: ['../autoscaling'], patches: ['autoscalers.yaml'] })],
    ],
  ] as const;
}

/** The base with the whole gateway in one pod. */
function smallBase(values: Values) {
  const manifests = [...smallManifests(values)];
  const resources = manifests.map(([name]) => `${name}.yaml`);
  return [
    ...manifests.map(([name, members]) => [`small/${name}.yaml`, members] as const),
    ['small/kustomization.yaml', [kustomization({ resources })]] as const,
  ];
}

function overlay(name: string, namespace: string, resources: readonly string[], { image }: Values) {
  const images = [{ name: image.repository, newName: image.repository, newTag: image.tag }];
  return [`overlays/${name}/kustomization.yaml`, [kustomization({ namespace, resources, images })]] as const;
}

function developmentOverlay(values: Values) {
  const changed = [
    { name: 'gateway-config', data: { 'gateway.yaml': simulatedProviders() } },
    { name: 'pool-broker-settings', data: simulatorSetting },
    // Its secrets are public.
    { name: 'gateway-settings', data: { ALLOW_DEVELOPMENT_SECRETS: 'true' } },
  ].map(({ name, data }) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }));
  const patches = changed.map(({ metadata: { name } }) => `${name}.yaml`);
  return [
    ['overlays/development/backends.yaml', developmentObjects(values)],
    ...changed.map((patch) => [`overlays/development/${patch.metadata.name}.yaml`, [patch]] as const),
    [
      'overlays/development/kustomization.yaml',
      [
        kustomization({
          namespace: 'model-gateway-development',
          resources: ['../../mesh', 'backends.yaml'],
          patches,
          images: [{ name: values.image.repository, newName: values.image.repository, newTag: values.image.tag }],
        }),
      ],
    ],
  ] as const;
}

interface Kustomization {
  readonly resources: readonly string[];
  readonly patches?: readonly string[];
  readonly namespace?: string;
  readonly images?: readonly object[];
}

function kustomization({ resources, patches, ...members }: Kustomization): object {
  return {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources,
    ...(patches !== undefined && { patches: patches.map((path) => ({ path })) }),
    ...members,
  };
}

/** The same gateway.yaml as that of docker-compose.yml. */
export function simulatedProviders(): string {
  return readFileSync(join(import.meta.dirname, '../../docker/gateway.yaml'), 'utf8').replace(/^#.*\n/gm, '');
}
