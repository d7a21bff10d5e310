import type {
  IContainer,
  IEnvVar,
  IPodSpec,
  IPodTemplateSpec,
  IProbe,
  IVolume,
  IVolumeMount,
} from 'kubernetes-models/v1';
import { backendSecrets, type PortName, portNumbers, type Service, services } from '../services.ts';
import type { Values } from '../values.ts';
import { labelsOf } from './labels.ts';

/** Whether the services themselves or a mesh encrypt traffic and authenticate callers. */
export type Transport = 'tls' | 'mesh';

/**
 * Endpoints are removed some seconds after the signal: until then a replica accepts requests that
 * still come.
 */
const drainDelaySeconds = 10;
/** How long calls other than streams may take to end. */
const shortDrainSeconds = 30;
/** The time that a process has after its drain. */
const graceMarginSeconds = 30;

/** The pods of a service. */
export function podTemplate(service: Service, values: Values, transport: Transport): IPodTemplateSpec {
  return {
    metadata: { labels: labelsOf(service.name) },
    spec: {
      ...hardenedPod(values),
      terminationGracePeriodSeconds: graceSeconds(service, values),
      topologySpreadConstraints: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: labelsOf(service.name) },
      })),
      ...(usesTables(service) && { initContainers: [waitForMigration(values)] }),
      containers: [container(service, values, transport)],
      volumes: volumesOf(service, transport),
    },
  };
}

/**
 * The settings of every pod: a numeric user, no token of the cluster, no variables named after
 * Services.
 */
export function hardenedPod(values: Values, user = 1_000): Omit<IPodSpec, 'containers'> {
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    imagePullSecrets: values.imagePullSecrets,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      fsGroup: user,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
  };
}

/** The settings of every container: a read-only root and no capability. */
export const hardenedContainer = {
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
} satisfies Partial<IContainer>;

/** The gateway's own image. */
export function ownImage({ image }: Values): Pick<IContainer, 'image' | 'imagePullPolicy'> {
  return { image: `${image.repository}:${image.tag}`, imagePullPolicy: image.pullPolicy };
}

export function secretVariable(name: string, secret: string, optional = false): IEnvVar {
  return { name, valueFrom: { secretKeyRef: { name: secret, key: name, ...(optional && { optional }) } } };
}

/** For commands of gatewayctl, which are small and short. */
export const commandResources = {
  requests: { cpu: '50m', memory: '256Mi' },
  limits: { cpu: '1', memory: '256Mi' },
};
export const commandHeap = { name: 'NODE_OPTIONS', value: '--max-old-space-size=128' };

const certificatesFolder = '/etc/gateway/tls';

/**
 * A certificate of its own for each service, with cert-manager's names for the keys of a Secret.
 */
export const certificateSettings: readonly IEnvVar[] = [
  { name: 'TLS_CERT_FILE', value: `${certificatesFolder}/tls.crt` },
  { name: 'TLS_KEY_FILE', value: `${certificatesFolder}/tls.key` },
  { name: 'TLS_CA_FILE', value: `${certificatesFolder}/ca.crt` },
];
export const certificatesMount: IVolumeMount = { name: 'tls', mountPath: certificatesFolder, readOnly: true };

export function certificatesOf(name: string): IVolume {
  // Octal 440: the pod's group can read the key, and no other user can.
  return { name: 'tls', secret: { secretName: `${name}-tls`, defaultMode: 0o440 } };
}

/**
 * Certificates of the authorities that backends are checked against. Public authorities need none.
 */
export const backendAuthorities: IVolume = {
  name: 'backend-authorities',
  secret: { secretName: 'gateway-backend-authorities', defaultMode: 0o440, optional: true },
};
export const backendAuthoritiesMount: IVolumeMount = {
  name: 'backend-authorities',
  mountPath: '/etc/gateway/backends',
  readOnly: true,
};

export function usesTables({ backends }: Service): boolean {
  return backends.includes('postgres');
}

function graceSeconds({ carriesStreams }: Service, { maxStreamSeconds }: Values): number {
  return (carriesStreams ? maxStreamSeconds : shortDrainSeconds) + drainDelaySeconds + graceMarginSeconds;
}

function container(service: Service, values: Values, transport: Transport): IContainer {
  const { cpuRequest, cpuLimit } = values.services[service.key];
  const memory = `${service.memoryMiB(values)}Mi`;
  return {
    name: service.name,
    ...ownImage(values),
    args: [service.name],
    ports: service.ports.map((name) => ({ name, containerPort: portNumbers[name], protocol: 'TCP' })),
    envFrom: settingsOf(service),
    env: variablesOf(service, values, transport),
    // The request equals the limit: a pod that uses its whole memory is not evicted.
    resources: { requests: { cpu: cpuRequest, memory }, limits: { cpu: cpuLimit, memory } },
    ...probes(transport),
    ...hardenedContainer,
    volumeMounts: mountsOf(service, transport),
  };
}

/**
 * Settings that an operator adds. The settings below override them, since the pod is made for
 * those.
 */
function settingsOf({ name }: Service): NonNullable<IContainer['envFrom']> {
  const secrets = name === 'pool-broker' ? [{ secretRef: { name: 'gateway-providers', optional: true } }] : [];
  return [
    { configMapRef: { name: 'gateway-settings' } },
    { configMapRef: { name: `${name}-settings` } },
    // The variables that gateway.yaml refers to.
    ...secrets,
  ];
}

function variablesOf(service: Service, values: Values, transport: Transport): IEnvVar[] {
  const scheme = transport === 'tls' ? 'https' : 'http';
  const fixed: Readonly<Record<string, string>> = {
    HOST: '0.0.0.0',
    ...Object.fromEntries(service.ports.map((name) => [portSettings[name], String(portNumbers[name])])),
    DRAIN_DELAY_SECONDS: String(drainDelaySeconds),
    ...(service.carriesStreams
      ? { MAX_STREAM_SECONDS: String(values.maxStreamSeconds) }
      : { DRAIN_TIMEOUT_SECONDS: String(shortDrainSeconds) }),
    NODE_OPTIONS: `--max-old-space-size=${values.services[service.key].heapMiB}`,
    ...service.settings(values),
    ...Object.fromEntries(
      Object.entries(service.peers).map(([setting, { service: peer, port }]) => [
        setting,
        `${scheme}://${peer}:${portNumbers[port]}`,
      ]),
    ),
    ...(service.isForOperators && {
      // For gatewayctl in the pod.
      GATEWAY_ADMIN_URL: `${scheme}://${service.name}:${portNumbers.admin}`,
      METRICS_URLS: services.map(({ name }) => `${name}=${scheme}://${name}:${portNumbers.admin}`).join(','),
    }),
  };
  const secrets = service.backends.map((backend) => {
    const { setting, secret } = backendSecrets[backend];
    return secretVariable(setting, secret);
  });
  return [
    ...Object.entries(fixed).map(([name, value]) => ({ name, value })),
    ...(transport === 'tls' ? certificateSettings : [{ name: 'ALLOW_PLAINTEXT', value: 'true' }]),
    ...secrets,
    ...Object.entries(service.secrets).map(([setting, secret]) => secretVariable(setting, secret)),
    ...Object.entries(service.optionalSecrets).map(([setting, secret]) => secretVariable(setting, secret, true)),
  ];
}

const portSettings: Readonly<Record<PortName, string>> = {
  public: 'PORT',
  grpc: 'GRPC_PORT',
  credentials: 'CREDENTIAL_PORT',
  admin: 'ADMIN_PORT',
};

/**
 * Restarts a process only if it does not answer at all: a restart does not help a process that
 * waits for a database.
 */
function probes(transport: Transport): Pick<IContainer, 'startupProbe' | 'livenessProbe' | 'readinessProbe'> {
  const ask = (path: string): IProbe => ({
    httpGet: { path, port: 'admin', scheme: transport === 'tls' ? 'HTTPS' : 'HTTP' },
    timeoutSeconds: 5,
  });
  return {
    startupProbe: { ...ask('/livez'), periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...ask('/livez'), periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: { ...ask('/readyz'), periodSeconds: 5, failureThreshold: 2 },
  };
}

function mountsOf(service: Service, transport: Transport): IVolumeMount[] {
  return [
    { name: 'tmp', mountPath: '/tmp' },
    ...(service.keepsData ? [{ name: 'data', mountPath: '/data' }] : []),
    ...(service.name === 'pool-broker' ? [{ name: 'config', mountPath: '/etc/gateway/config', readOnly: true }] : []),
    ...(service.backends.length > 0 ? [backendAuthoritiesMount] : []),
    ...(transport === 'tls' ? [certificatesMount] : []),
  ];
}

function volumesOf(service: Service, transport: Transport): IVolume[] {
  return [
    { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
    ...(service.name === 'pool-broker' ? [{ name: 'config', configMap: { name: 'gateway-config' } }] : []),
    ...(service.backends.length > 0 ? [backendAuthorities] : []),
    ...(transport === 'tls' ? [certificatesOf(service.name)] : []),
  ];
}

/** New code needs new tables: a pod waits for the Job that migrates them. */
function waitForMigration(values: Values): IContainer {
  return {
    name: 'wait-for-migration',
    ...ownImage(values),
    args: ['gatewayctl', 'migrate', '--wait'],
    env: [commandHeap, secretVariable('DATABASE_URL', 'gateway-database')],
    resources: commandResources,
    ...hardenedContainer,
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }, backendAuthoritiesMount],
  };
}
