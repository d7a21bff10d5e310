import type { IJob } from 'kubernetes-models/batch/v1';
import type { Values } from '../values.ts';
import { labelsOf, metadataOf } from './labels.ts';
import {
  backendAuthorities,
  backendAuthoritiesMount,
  commandHeap,
  commandResources,
  hardenedContainer,
  hardenedPod,
  ownImage,
  secretVariable,
} from './pod.ts';

/**
 * Migrates the tables; services of the new version wait for it. It needs a Secret and none of our
 * other objects: Helm runs it before any of them exists.
 */
export function migrationJob(values: Values): IJob {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: metadataOf('migrate'),
    spec: {
      // Postgres may be away for a while. A migration has no deadline.
      backoffLimit: 10,
      template: {
        metadata: { labels: labelsOf('migrate') },
        spec: {
          ...hardenedPod(values),
          restartPolicy: 'OnFailure',
          containers: [
            {
              name: 'migrate',
              ...ownImage(values),
              args: ['gatewayctl', 'migrate'],
              env: [commandHeap, secretVariable('DATABASE_URL', 'gateway-database')],
              resources: commandResources,
              ...hardenedContainer,
              volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }, backendAuthoritiesMount],
            },
          ],
          volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '64Mi' } }, backendAuthorities],
        },
      },
    },
  };
}
