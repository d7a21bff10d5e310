import type { IPod } from 'kubernetes-models/v1';
import type { Values } from '../values.ts';
import { metadataOf } from './labels.ts';
import { operator } from './network-policies.ts';
import {
  backendAuthorities,
  backendAuthoritiesMount,
  certificateSettings,
  certificatesMount,
  certificatesOf,
  commandHeap,
  commandResources,
  hardenedContainer,
  hardenedPod,
  ownImage,
  secretVariable,
  type Transport,
} from './pod.ts';

const anHour = 3_600;

/** A pod for an hour of gatewayctl: what it may do is not kept standing around. */
export function operatorPod(values: Values, transport: Transport): IPod {
  const withCertificates = transport === 'tls';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadataOf(operator),
    spec: {
      ...hardenedPod(values),
      restartPolicy: 'Never',
      activeDeadlineSeconds: anHour,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: operator,
          ...ownImage(values),
          command: ['sleep', String(anHour)],
          env: [
            commandHeap,
            // Tokens; other commands are sent elsewhere with `env GATEWAY_ADMIN_URL=…`.
            { name: 'GATEWAY_ADMIN_URL', value: `${withCertificates ? 'https' : 'http'}://identity:9090` },
            ...(withCertificates ? certificateSettings : []),
            secretVariable('DATABASE_URL', 'gateway-database'),
            secretVariable('ACCOUNT_KEYS', 'gateway-accounts'),
            { name: 'GATEWAY_CONFIG', value: '/etc/gateway/config/gateway.yaml' },
          ],
          // What gateway.yaml refers to.
          envFrom: [
            { configMapRef: { name: 'pool-broker-settings' } },
            { secretRef: { name: 'gateway-providers', optional: true } },
          ],
          resources: commandResources,
          ...hardenedContainer,
          volumeMounts: [
            { name: 'tmp', mountPath: '/tmp' },
            { name: 'config', mountPath: '/etc/gateway/config', readOnly: true },
            backendAuthoritiesMount,
            ...(withCertificates ? [certificatesMount] : []),
          ],
        },
      ],
      volumes: [
        { name: 'tmp', emptyDir: {} },
        { name: 'config', configMap: { name: 'gateway-config' } },
        backendAuthorities,
        ...(withCertificates ? [certificatesOf(operator)] : []),
      ],
    },
  };
}
