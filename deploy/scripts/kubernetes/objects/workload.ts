import type { IDeployment, IStatefulSet } from 'kubernetes-models/apps/v1';
import type { Service } from '../services.ts';
import type { Values } from '../values.ts';
import { labelsOf, metadataOf } from './labels.ts';
import { podTemplate, type Transport } from './pod.ts';

export interface WorkloadChoices {
  readonly transport: Transport;
  /**
   * Without an autoscaler the workload has its number of replicas. With an autoscaler, each apply
   * would reset it.
   */
  readonly autoscaled: boolean;
}

/** The workload of a service: a StatefulSet if it keeps files, otherwise a Deployment. */
export function workload(service: Service, values: Values, choices: WorkloadChoices): IStatefulSet | IDeployment {
  const spec = {
    ...(!choices.autoscaled && { replicas: values.services[service.key].replicas }),
    minReadySeconds: 5,
    revisionHistoryLimit: 5,
    selector: { matchLabels: labelsOf(service.name) },
    template: podTemplate(service, values, choices.transport),
  };
  if (!service.keepsData) {
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: metadataOf(service.name),
      spec: { ...spec, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
    };
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: metadataOf(service.name),
    spec: {
      ...spec,
      serviceName: service.name,
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'RollingUpdate' },
      // A claim may contain usage that no ledger has confirmed.
      ...keptClaim(service.name, values.services.edgeRouter.volumeClaim, values),
    },
  };
}

/** A claim for each replica, at /data. Only a person deletes it. */
export function keptClaim(
  name: string,
  volumeClaim: Readonly<Record<string, unknown>>,
  { storageClassName }: Values,
): Pick<IStatefulSetSpec, 'persistentVolumeClaimRetentionPolicy' | 'volumeClaimTemplates'> {
  return {
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    volumeClaimTemplates: [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data', labels: labelsOf(name) },
        spec: { ...volumeClaim, ...(storageClassName !== '' && { storageClassName }) },
      },
    ],
  };
}

type IStatefulSetSpec = NonNullable<IStatefulSet['spec']>;
