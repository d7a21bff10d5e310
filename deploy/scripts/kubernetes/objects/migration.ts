import type { IJob } from 'kubernetes-models/batch/v1';
import type { Values } from '../values.ts';
import { metadataOf } from './labels.ts';
import {
  backendAuthorities,
  backendAuthoritiesMount,
  commandResources,
  commandVariables,
  hardenedContainer,
  hardenedPod,
  ownImage,
  podMetadata,
} from './pod.ts';

/**
 * Migrates the tables; services of the new version wait for it. It needs a Secret and none of our
 * other objects: Helm runs it before any of them exists.
 */
export function migrationJob(values: Values): IJob {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...metadataOf(jobName(values), 'migrate'), annotations: ofDeployers },
    spec: {
      // Its log can be read for a day.
      ttlSecondsAfterFinished: 86_400,
      // Postgres may be away for a while. A migration has no deadline.
      backoffLimit: 10,
      template: {
        metadata: podMetadata('migrate', values),
        spec: {
          // A hook runs before the account of the chart exists.
          ...hardenedPod(values, { ...(values.serviceAccount.create && { account: '' }) }),
          restartPolicy: 'OnFailure',
          containers: [
            {
              name: 'migrate',
              ...ownImage(values),
              args: ['gatewayctl', 'migrate'],
              env: commandVariables(values),
              resources: commandResources,
              ...hardenedContainer,
              volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }, backendAuthoritiesMount],
            },
          ],
          volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '64Mi' } }, backendAuthorities(values)],
        },
      },
    },
  };
}

/**
 * A Job can't be changed, so each image has its own: "migrate-0-1-0", "migrate-sha256-…". A name
 * has at most 63 characters.
 */
function jobName({ image: { tag, digest } }: Values): string {
  const words = (digest || tag).replaceAll(/[._:-]+/g, '-').toLowerCase();
  return `migrate-${words.slice(0, 50).replace(/-$/, '')}`;
}

/**
 * Argo CD and Flux replace a Job whose image changed under the same name. In Argo CD the Job runs
 * during the sync and not before it, because the Secret that it needs may be part of the same
 * application. Everything else waits for the Job.
 */
const ofDeployers = {
  'argocd.argoproj.io/hook': 'Sync',
  'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
  'kustomize.toolkit.fluxcd.io/force': 'Enabled',
};
