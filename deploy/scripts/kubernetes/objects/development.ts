import type { IDeployment, IStatefulSet } from 'kubernetes-models/apps/v1';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import type { IConfigMap, IContainer, ISecret, IService } from 'kubernetes-models/v1';
import { type Backend, backendSecrets, type Service, services } from '../services.ts';
import type { Values } from '../values.ts';
import { labelsOf, metadataOf } from './labels.ts';
import { nameLookups, podsOf, policy } from './network-policies.ts';
import { hardenedContainer, hardenedPod, ownImage } from './pod.ts';
import { disruptionBudget } from './services.ts';
import { configMap } from './settings.ts';

type Objects = readonly (
  | IStatefulSet
  | IDeployment
  | INetworkPolicy
  | IConfigMap
  | ISecret
  | IService
  | ReturnType<typeof disruptionBudget>
)[];

/**
 * The additional objects of a development cluster: one server of each backend, and both simulated
 * providers.
 */
export function developmentObjects(values: Values): Objects {
  return [
    ...backends.flatMap((backend) => backendObjects(backend, values)),
    ...simulator(values),
    configMap('nats-config', 'nats', { 'nats.conf': natsConfig }),
    ...secrets(values),
  ];
}

const simulatorPort = 8090;

/** The names of simulated providers in the pool broker's gateway.yaml. */
export const simulatorSetting = { SIMULATOR_URL: `http://simulator:${simulatorPort}` };

/** A published request record is on disk before it is acknowledged. */
const natsConfig = `jetstream {
  store_dir: /data
  sync_interval: always
}
http: 8222
`;

interface BackendServer {
  readonly name: Backend;
  readonly image: string;
  readonly user: number;
  readonly port: number;
  readonly container: Pick<IContainer, 'args' | 'env' | 'readinessProbe'>;
  /** Folders that the server writes to. */
  readonly folders: readonly string[];
}

const backends: readonly BackendServer[] = [
  {
    name: 'postgres',
    image: 'postgres:17',
    user: 999,
    port: 5432,
    container: {
      env: [
        { name: 'POSTGRES_USER', value: 'gateway' },
        { name: 'POSTGRES_DB', value: 'gateway' },
        // There is no password: the network policy decides which pods reach it.
        { name: 'POSTGRES_HOST_AUTH_METHOD', value: 'trust' },
        { name: 'PGDATA', value: '/data/pgdata' },
      ],
      readinessProbe: { exec: { command: ['pg_isready', '--host', '127.0.0.1', '--username', 'gateway'] } },
    },
    folders: ['/tmp', '/var/run/postgresql'],
  },
  {
    name: 'redis',
    image: 'redis:8',
    user: 999,
    port: 6379,
    container: {
      // noeviction: evicting a counter would break a limit.
      args: [
        'redis-server',
        '--appendonly',
        'yes',
        '--maxmemory',
        '256mb',
        '--maxmemory-policy',
        'noeviction',
        '--dir',
        '/data',
      ],
      readinessProbe: { exec: { command: ['redis-cli', 'ping'] } },
    },
    folders: ['/tmp'],
  },
  {
    name: 'nats',
    image: 'nats:2-alpine',
    user: 1_000,
    port: 4222,
    container: {
      args: ['--config', '/etc/nats/nats.conf'],
      readinessProbe: { httpGet: { path: '/healthz', port: 8222, scheme: 'HTTP' } },
    },
    folders: ['/tmp'],
  },
];

function backendObjects(server: BackendServer, values: Values): Objects {
  const { name, image, user, port, container, folders } = server;
  const callers = services.filter((service: Service) => service.backends.includes(name)).map((service) => service.name);
  const commands = name === 'postgres' ? ['migrate'] : [];
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: metadataOf(name),
      spec: {
        serviceName: name,
        replicas: 1,
        selector: { matchLabels: labelsOf(name) },
        template: {
          metadata: { labels: labelsOf(name) },
          spec: {
            ...hardenedPod(values, { user }),
            containers: [
              {
                name,
                image,
                ports: [{ name, containerPort: port, protocol: 'TCP' }],
                ...container,
                ...probesLike(container.readinessProbe),
                resources: { requests: { cpu: '100m', memory: '512Mi' }, limits: { cpu: '2', memory: '512Mi' } },
                ...hardenedContainer,
                volumeMounts: [
                  { name: 'data', mountPath: '/data' },
                  ...folders.map((mountPath) => ({ name: volumeName(mountPath), mountPath })),
                  ...(name === 'nats' ? [{ name: 'config', mountPath: '/etc/nats', readOnly: true }] : []),
                ],
              },
            ],
            volumes: [
              ...folders.map((folder) => ({ name: volumeName(folder), emptyDir: {} })),
              ...(name === 'nats' ? [{ name: 'config', configMap: { name: 'nats-config' } }] : []),
            ],
          },
        },
        volumeClaimTemplates: [
          {
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            metadata: { name: 'data', labels: labelsOf(name) },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
          },
        ],
      },
    },
    serviceOf(name, name, port),
    disruptionBudget(name),
    policy(name, [{ from: [...callers, ...commands].map(podsOf), ports: [{ protocol: 'TCP', port }] }], []),
  ];
}

function simulator(values: Values): Objects {
  const adapters = services.filter((service: Service) => service.carriesStreams && service.reachesProviders);
  const port = { protocol: 'TCP' as const, port: simulatorPort };
  const answers = { httpGet: { path: '/_simulator/requests', port: 'http', scheme: 'HTTP' } } as const;
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: metadataOf('simulator'),
      spec: {
        selector: { matchLabels: labelsOf('simulator') },
        template: {
          metadata: { labels: labelsOf('simulator') },
          spec: {
            ...hardenedPod(values),
            containers: [
              {
                name: 'simulator',
                ...ownImage(values),
                args: ['simulator', '--host', '0.0.0.0', '--port', String(simulatorPort)],
                ports: [{ name: 'http', containerPort: simulatorPort, protocol: 'TCP' }],
                readinessProbe: answers,
                ...probesLike(answers),
                resources: { requests: { cpu: '50m', memory: '256Mi' }, limits: { cpu: '1', memory: '256Mi' } },
                ...hardenedContainer,
                volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
              },
            ],
            volumes: [{ name: 'tmp', emptyDir: {} }],
          },
        },
      },
    },
    serviceOf('simulator', 'http', simulatorPort),
    disruptionBudget('simulator'),
    policy('simulator', [{ from: adapters.map(({ name }) => podsOf(name)), ports: [port] }], []),
    // In addition to the adapters' own policies, which allow traffic only to providers.
    ...adapters.map(({ name }) => ({
      ...policy(name, [], [nameLookups, { to: [podsOf('simulator')], ports: [port] }]),
      metadata: metadataOf(`${name}-to-simulator`, name),
    })),
  ];
}

function serviceOf(name: string, portName: string, port: number): IService {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(name),
    spec: { selector: labelsOf(name), ports: [{ name: portName, port, targetPort: portName, protocol: 'TCP' }] },
  };
}

/** For trials only: these values are public. */
function secrets(values: Values): readonly ISecret[] {
  const addresses: Readonly<Record<Backend, string>> = {
    postgres: 'postgres://gateway@postgres:5432/gateway',
    redis: 'redis://redis:6379',
    nats: 'nats://nats:4222',
  };
  const ofBackends = backends.map(({ name }) => {
    const { setting, secret } = backendSecrets[name];
    return secretOf(values.secrets[secret], { [setting]: addresses[name] });
  });
  const developmentToken = 'gw_a_developmentonlydevelopmentonly15DEd7';
  const key = Buffer.from('development-only-development-onl').toString('base64');
  return [
    ...ofBackends,
    secretOf(values.secrets.identity, { TOKEN_HASH_KEY: key }),
    secretOf(values.secrets.admin, { ADMIN_TOKEN: developmentToken }),
    secretOf(values.secrets.accounts, { ACCOUNT_KEYS: `development:${key}` }),
  ];
}

function secretOf(name: string, stringData: Record<string, string>): ISecret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: metadataOf(name, 'model-gateway'), stringData };
}

function probesLike(ready: IContainer['readinessProbe']): Pick<IContainer, 'startupProbe' | 'livenessProbe'> {
  return {
    startupProbe: { ...ready, periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...ready, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
  };
}

/** "/var/run/postgresql" is the volume var-run-postgresql. */
function volumeName(folder: string): string {
  return folder.slice(1).replaceAll('/', '-');
}
