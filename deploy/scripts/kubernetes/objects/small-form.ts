import type { IStatefulSet } from 'kubernetes-models/apps/v1';
import type { IConfigMap, IContainer, IEnvVar } from 'kubernetes-models/v1';
import { adapterBuffersMiB, nodeMiB, portNumbers } from '../services.ts';
import type { Values } from '../values.ts';
import { labelsOf, metadataOf } from './labels.ts';
import { policyOfOne } from './network-policies.ts';
import {
  graceMarginSeconds,
  hardenedContainer,
  hardenedPod,
  ownImage,
  podMetadata,
  probes,
  providerVariables,
  secretVariable,
} from './pod.ts';
import { disruptionBudget, headlessService, publicService } from './services.ts';
import { configMap, gatewayConfig } from './settings.ts';
import { keptClaim } from './workload.ts';

/** The pod's name, in metrics too: alerts know a gateway in one process as the job `gateway`. */
export const smallName = 'gateway';

/** The whole gateway in one pod. Its data is on one claim, so there is never a second replica. */
export function smallForm(values: Values) {
  return [
    statefulSet(values),
    // Under the same name as in the full form, for the Ingress of the console.
    headlessService({ name: 'admin', ports: ['admin'] }, smallName),
    publicService(smallName, values),
    disruptionBudget(smallName),
    policyOfOne(smallName, values),
  ];
}

export function smallSettings(values: Values): readonly IConfigMap[] {
  return [
    configMap('gateway-settings', 'model-gateway', { ADMIN_ALLOWED_HOSTS: 'admin', ...values.settings }),
    gatewayConfig(smallName, values),
  ];
}

function statefulSet(values: Values): IStatefulSet {
  const { drainSeconds, volumeClaim } = values.small;
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: metadataOf(smallName),
    spec: {
      replicas: 1,
      revisionHistoryLimit: 5,
      selector: { matchLabels: labelsOf(smallName) },
      template: {
        metadata: podMetadata(smallName, values),
        spec: {
          ...hardenedPod(values, { own: values.small }),
          terminationGracePeriodSeconds: drainSeconds + graceMarginSeconds,
          containers: [container(values)],
          volumes: [
            { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
            { name: 'config', configMap: { name: 'gateway-config' } },
          ],
        },
      },
      serviceName: 'admin',
      updateStrategy: { type: 'RollingUpdate' },
      ...keptClaim(smallName, volumeClaim, values),
    },
  };
}

/** One for each format of providers, which both translate large requests. */
const translationThreads = 2;

function container(values: Values): IContainer {
  const { bodyMemoryMiB, cpuLimit, cpuRequest, heapMiB } = values.small;
  const memory = `${heapMiB * (1 + translationThreads) + bodyMemoryMiB + 2 * adapterBuffersMiB + nodeMiB}Mi`;
  return {
    name: smallName,
    ...ownImage(values),
    args: ['all-in-one'],
    ports: (['public', 'admin'] as const).map((name) => ({ name, containerPort: portNumbers[name], protocol: 'TCP' })),
    envFrom: [{ configMapRef: { name: 'gateway-settings' } }, providerVariables(values)],
    env: variables(values),
    resources: { requests: { cpu: cpuRequest, memory }, limits: { cpu: cpuLimit, memory } },
    ...probes('mesh'),
    ...hardenedContainer,
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'data', mountPath: '/data' },
      { name: 'config', mountPath: '/etc/gateway/config', readOnly: true },
    ],
  };
}

function variables({ maxStreamSeconds, pods, secrets, small }: Values): IEnvVar[] {
  const fixed: Readonly<Record<string, string>> = {
    HOST: '0.0.0.0',
    PORT: String(portNumbers.public),
    ADMIN_PORT: String(portNumbers.admin),
    // There are no calls between pods. A network policy says who reaches the admin port.
    ALLOW_PLAINTEXT: 'true',
    MAX_STREAM_SECONDS: String(maxStreamSeconds),
    // No other pod accepts requests while this one drains.
    DRAIN_TIMEOUT_SECONDS: String(small.drainSeconds),
    NODE_OPTIONS: `--max-old-space-size=${small.heapMiB}`,
    TRANSLATION_WORKERS: String(translationThreads / 2),
    BODY_MEMORY_MAX_MIB: String(small.bodyMemoryMiB),
    GATEWAY_DATA: '/data',
    GATEWAY_CONFIG: '/etc/gateway/config/gateway.yaml',
  };
  return [
    ...pods.env,
    ...Object.entries(fixed).map(([name, value]) => ({ name, value })),
    secretVariable('TOKEN_HASH_KEY', secrets.identity),
    secretVariable('ACCOUNT_KEYS', secrets.accounts),
    secretVariable('ADMIN_TOKEN', secrets.admin),
    secretVariable('OIDC_CLIENT_SECRET', secrets.oidc, true),
    secretVariable('PERSON_KEYS', secrets.oidc, true),
  ];
}
