import type { IDeployment, IStatefulSet } from 'kubernetes-models/apps/v1';
import type { IContainer } from 'kubernetes-models/v1';
import { workload } from './objects/workload.ts';
import { type Service, services } from './services.ts';
import type { Values } from './values.ts';

/**
 * The changes of a mesh to the workload of each service, as a strategic merge patch: addresses,
 * probes, and no certificates.
 */
export function meshPatches(values: Values): ReadonlyMap<string, object> {
  return new Map(services.map((service) => [service.name, meshPatch(service, values)]));
}

function meshPatch(service: Service, values: Values): object {
  const from = workload(service, values, { transport: 'tls', autoscaled: true });
  const to = workload(service, values, { transport: 'mesh', autoscaled: true });
  const { startupProbe, livenessProbe, readinessProbe } = mainContainer(to);
  const probes = Object.entries({ startupProbe, livenessProbe, readinessProbe }).map(([name, probe]) => [
    name,
    { httpGet: { scheme: probe?.httpGet?.scheme } },
  ]);
  return {
    apiVersion: to.apiVersion,
    kind: to.kind,
    metadata: { name: service.name },
    spec: {
      template: {
        spec: {
          containers: [
            {
              name: service.name,
              env: variablesPatch(mainContainer(from), mainContainer(to)),
              ...Object.fromEntries(probes),
              volumeMounts: [{ mountPath: '/etc/gateway/tls', $patch: 'delete' }],
            },
          ],
          volumes: [{ name: 'tls', $patch: 'delete' }],
        },
      },
    },
  };
}

function variablesPatch(from: IContainer, to: IContainer): readonly object[] {
  const before = new Map(from.env?.map((variable) => [variable.name, variable.value]));
  const after = new Map(to.env?.map((variable) => [variable.name, variable.value]));
  return [
    ...[...after].filter(([name, value]) => before.get(name) !== value).map(([name, value]) => ({ name, value })),
    ...[...before.keys()].filter((name) => !after.has(name)).map((name) => ({ name, $patch: 'delete' })),
  ];
}

function mainContainer({ spec }: IDeployment | IStatefulSet): IContainer {
  const container = spec?.template.spec?.containers[0];
  if (container === undefined) throw new Error('a workload has no container');
  return container;
}
