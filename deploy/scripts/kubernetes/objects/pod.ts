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
export const graceMarginSeconds = 30;

/** The pods of a service. */
export function podTemplate(service: Service, values: Values, transport: Transport): IPodTemplateSpec {
  return {
    metadata: podMetadata(service.name, values),
    spec: {
      ...hardenedPod(values, { own: values.services[service.key] }),
      terminationGracePeriodSeconds: graceSeconds(service, values),
      topologySpreadConstraints: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: labelsOf(service.name) },
      })),
      ...(usesTables(service) && { initContainers: [waitForMigration(values)] }),
      containers: [container(service, values, transport)],
      volumes: volumesOf(service, values, transport),
    },
  };
}

/** @param name the name of the service, which labels its pods */
export function podMetadata(name: string, { pods: { annotations, labels } }: Values) {
  return { labels: { ...labels, ...labelsOf(name) }, ...(!isEmpty(annotations) && { annotations }) };
}

interface PodChoices {
  readonly user?: number;
  /** The values of the service. Absent: the pod is of none. */
  readonly own?: Pick<Values['small'], 'nodeSelector' | 'tolerations' | 'affinity'>;
  /** Empty: the default account of the namespace. */
  readonly account?: string;
}

/**
 * The settings of every pod: a numeric user, no token of the cluster, no variables named after
 * Services.
 */
export function hardenedPod(values: Values, choices: PodChoices = {}): Omit<IPodSpec, 'containers'> {
  const { user = 1_000, own, account = accountName(values) } = choices;
  return {
    ...(account !== '' && { serviceAccountName: account }),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    imagePullSecrets: values.imagePullSecrets,
    ...placement(values, own),
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

/** The service account of the pods. Empty: the default one of the namespace. */
export function accountName({ serviceAccount: { create, name } }: Values): string {
  return name === '' && create ? 'model-gateway' : name;
}

/** Which nodes may run the pods. */
function placement({ pods }: Values, own: PodChoices['own']): Partial<IPodSpec> {
  const { priorityClassName } = pods;
  const nodeSelector = { ...pods.nodeSelector, ...own?.nodeSelector };
  const tolerations = [...pods.tolerations, ...(own?.tolerations ?? [])];
  const affinity = own === undefined || isEmpty(own.affinity) ? pods.affinity : own.affinity;
  return {
    ...(!isEmpty(nodeSelector) && { nodeSelector }),
    ...(tolerations.length > 0 && { tolerations }),
    ...(!isEmpty(affinity) && { affinity }),
    ...(priorityClassName !== '' && { priorityClassName }),
  };
}

function isEmpty(map: object): boolean {
  return Object.keys(map).length === 0;
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
  const version = image.digest === '' ? `:${image.tag}` : `@${image.digest}`;
  return { image: `${image.repository}${version}`, imagePullPolicy: image.pullPolicy };
}

export function secretVariable(name: string, secret: string, optional = false): IEnvVar {
  return { name, valueFrom: { secretKeyRef: { name: secret, key: name, ...(optional && { optional }) } } };
}

/** For commands of gatewayctl, which are small and short. */
export const commandResources = {
  requests: { cpu: '50m', memory: '256Mi' },
  limits: { cpu: '1', memory: '256Mi' },
};

/** The resources of commands that use the tables. */
export function commandVariables({ pods, secrets }: Values): IEnvVar[] {
  const heap = { name: 'NODE_OPTIONS', value: '--max-old-space-size=128' };
  return [...pods.env, heap, secretVariable('DATABASE_URL', secrets.database)];
}

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
export function backendAuthorities({ secrets }: Values): IVolume {
  const secret = { secretName: secrets.backendAuthorities, defaultMode: 0o440, optional: true };
  return { name: 'backend-authorities', secret };
}
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
    envFrom: settingsOf(service, values),
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
function settingsOf({ name }: Service, values: Values): NonNullable<IContainer['envFrom']> {
  return [
    { configMapRef: { name: 'gateway-settings' } },
    { configMapRef: { name: `${name}-settings` } },
    ...(name === 'pool-broker' ? [providerVariables(values)] : []),
  ];
}

/** The variables that gateway.yaml refers to. */
export function providerVariables({ secrets }: Values) {
  return { secretRef: { name: secrets.providers, optional: true } };
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
    return secretVariable(setting, values.secrets[secret]);
  });
  return [
    ...values.pods.env,
    ...Object.entries(fixed).map(([name, value]) => ({ name, value })),
    ...(transport === 'tls' ? certificateSettings : [{ name: 'ALLOW_PLAINTEXT', value: 'true' }]),
    ...secrets,
    ...Object.entries(service.secrets).map(([setting, key]) => secretVariable(setting, values.secrets[key])),
    ...Object.entries(service.optionalSecrets).map(([setting, key]) =>
      secretVariable(setting, values.secrets[key], true),
    ),
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
export function probes(transport: Transport): Pick<IContainer, 'startupProbe' | 'livenessProbe' | 'readinessProbe'> {
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

function volumesOf(service: Service, values: Values, transport: Transport): IVolume[] {
  return [
    { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
    ...(service.name === 'pool-broker' ? [{ name: 'config', configMap: { name: 'gateway-config' } }] : []),
    ...(service.backends.length > 0 ? [backendAuthorities(values)] : []),
    ...(transport === 'tls' ? [certificatesOf(service.name)] : []),
  ];
}

/** New code needs new tables: a pod waits for the Job that migrates them. */
function waitForMigration(values: Values): IContainer {
  return {
    name: 'wait-for-migration',
    ...ownImage(values),
    args: ['gatewayctl', 'migrate', '--wait'],
    env: commandVariables(values),
    resources: commandResources,
    ...hardenedContainer,
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }, backendAuthoritiesMount],
  };
}
