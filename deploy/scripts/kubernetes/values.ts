import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { defaultRunbooks } from '../observability/rule-files.ts';
import { furtherLabels } from './further-labels.ts';

// The values that an operator may choose. The schema is also the Helm chart's values.schema.json,
// its defaults are values.yaml, and the manifests for Kustomize are made with these defaults.

/** The version of the gateway, and so of its image. */
const { version }: { readonly version: string } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
);

const anything = z.record(z.string(), z.unknown());
const annotations = z.record(z.string(), z.string());
const peers = z.array(anything).min(1);
const ports = z.array(z.strictObject({ protocol: z.enum(['TCP', 'UDP']), port: z.int().min(1).max(65_535) })).min(1);
const settings = z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), z.string());

const toleration = z.strictObject({
  key: z.string().exactOptional(),
  operator: z.enum(['Equal', 'Exists']).exactOptional(),
  value: z.string().exactOptional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).exactOptional(),
  tolerationSeconds: z.int().exactOptional(),
});

const gatewayYaml = `pools:
  responses: { format: responses, owned_by: provider_a, base_url: "https://api.openai.com/v1" }
  messages: { format: messages, owned_by: provider_b, base_url: "https://api.anthropic.com/v1" }

classes:
  sterk: { name: Sterk, effort: high, candidates: [responses/gpt-5.5, messages/claude-opus-4-8] }
  snel: { name: Snel, effort: low, candidates: [responses/gpt-5.5-mini, messages/claude-haiku-4-5] }
  claude: { name: Claude, effort: medium, candidates: [messages/claude-sonnet-5] }
`;

/**
 * Anyone who may start pods gives them any labels. So pods of other namespaces are admitted by the
 * namespace too, whose labels only administrators of the cluster set.
 */
const prometheusPods = {
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } },
  podSelector: { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } },
};
const limiterClientPods = {
  namespaceSelector: { matchLabels: { 'model-gateway/limiter-clients': 'true' } },
  podSelector: { matchLabels: { 'model-gateway/limiter-client': 'true' } },
};
const operatorPods = { podSelector: { matchLabels: { 'model-gateway/operator': 'true' } } };
const volumeClaim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } } };

export const valuesSchema = z.strictObject({
  /** Values that Helm passes to a chart that is part of another one. */
  global: anything.optional(),
  image: z
    .strictObject({
      repository: text(/^[a-z0-9][a-z0-9._\-/:]*$/, 'model-gateway').describe('One image contains every service.'),
      tag: text(/^[\w][\w.-]{0,127}$/, version),
      digest: text(/^(sha256:[0-9a-f]{64})?$/, '').describe(
        '`sha256:…`: identifies exactly what runs, and wins over `tag`. Empty: the image of `tag`.',
      ),
      pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
    })
    .prefault({}),
  form: z
    .enum(['full', 'small'])
    .default('full')
    .describe(
      '`full`: each service has its own pods, with Redis, NATS and Postgres. `small`: one pod runs all services, with their data on one volume claim.',
    ),
  imagePullSecrets: z
    .array(z.strictObject({ name: z.string() }))
    .default([])
    .describe('Secrets with the credentials of the image registry.'),
  transport: z
    .enum(['tls', 'mesh'])
    .default('tls')
    .describe(
      '`tls`: services use the certificates in <service>-tls. `mesh`: a service mesh encrypts and authenticates calls. The small form has no calls to encrypt.',
    ),
  maxStreamSeconds: z
    .int()
    .min(1)
    .max(86_400)
    .default(3_600)
    .describe('The longest answer. The grace periods of the edge and the adapters are derived from it.'),
  settings: settings
    .default({ LOG_LEVEL: 'info' })
    .describe('Other settings of all services, by their names in docs/reference/configuration.md.'),
  gatewayYaml: z
    .string()
    .default(gatewayYaml)
    .describe('gateway.yaml: pools, classes, and accounts that refer to variables.'),
  secrets: z
    .strictObject({
      database: objectName('gateway-database').describe('DATABASE_URL'),
      redis: objectName('gateway-redis').describe('REDIS_URL'),
      nats: objectName('gateway-nats').describe('NATS_URL'),
      identity: objectName('gateway-identity').describe('TOKEN_HASH_KEY'),
      accounts: objectName('gateway-accounts').describe('ACCOUNT_KEYS'),
      admin: objectName('gateway-admin').describe('ADMIN_TOKEN'),
      oidc: objectName('gateway-oidc').describe('OIDC_CLIENT_SECRET and PERSON_KEYS. The Secret is optional.'),
      providers: objectName('gateway-providers').describe('Each variable of gateway.yaml. The Secret is optional.'),
      backendAuthorities: objectName('gateway-backend-authorities').describe(
        'Certificates of the authorities of backends. The Secret is optional.',
      ),
    })
    .prefault({})
    .describe(
      'Names of existing Secrets: the chart creates none. Each comment names the keys that a Secret must have.',
    ),
  serviceAccount: z
    .strictObject({
      create: z
        .boolean()
        .default(false)
        .describe('Creates the account. The migration, which runs before, does not use it then.'),
      name: text(/^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$/, '').describe(
        'Empty: `model-gateway` if it is created, otherwise the default account of the namespace.',
      ),
      annotations: annotations.default({}).describe('Of a created account, such as the role of a cloud.'),
    })
    .prefault({})
    .describe('The service account of all pods. No pod gets its token.'),
  pods: z
    .strictObject({
      labels: furtherLabels.default({}),
      annotations: annotations.default({}),
      nodeSelector: annotations.default({}),
      tolerations: z.array(toleration).default([]),
      affinity: anything.default({}),
      priorityClassName: z.string().default('').describe('Empty: the default class of the cluster.'),
      env: z
        .array(
          z.strictObject({ name: z.string(), value: z.string().exactOptional(), valueFrom: anything.exactOptional() }),
        )
        .default([])
        .describe('Further variables of every container. If the pod sets the same variable, its own value applies.'),
    })
    .prefault({})
    .describe('Applies to all pods, including the migration. Services add to where theirs may run.'),
  publicService: z
    .strictObject({
      type: z.enum(['ClusterIP', 'LoadBalancer', 'NodePort']).default('ClusterIP'),
      annotations: annotations.default({}),
    })
    .prefault({})
    .describe('The Service `gateway`, which clients reach.'),
  storageClassName: z
    .string()
    .default('')
    .describe('The storage class of all claims. Empty: the one in `volumeClaim`, or the default of the cluster.'),
  small: z
    .strictObject({
      heapMiB: count(256, 'The heap of the process, and of each thread that translates large requests.', 64),
      bodyMemoryMiB: count(128, 'BODY_MEMORY_MAX_MIB: memory for request bodies.', 84),
      cpuRequest: quantity('250m'),
      cpuLimit: quantity('2'),
      drainSeconds: count(
        60,
        'How long streams may take to end when the pod stops. The gateway accepts no requests meanwhile.',
      ),
      volumeClaim: anything.default(volumeClaim).describe('The volume claim of the database.'),
      ...placementOfService(),
    })
    .prefault({})
    .describe('The pod of the small form.'),
  autoscaling: z
    .strictObject({
      enabled: z.boolean().default(true).describe('If disabled, each service has its `replicas`.'),
      metric: z
        .enum(['cpu', 'openStreams'])
        .default('cpu')
        .describe(
          '`openStreams`: edges also scale by gateway_open_streams, which an adapter of the metrics API must serve.',
        ),
      streamsPerEdge: count(200, 'With `openStreams`: target number of open streams per edge.'),
      cpu: quantity('600m').describe('Target CPU utilization of a replica. A Node.js process uses one core.'),
    })
    .prefault({}),
  certManager: z
    .strictObject({ enabled: z.boolean().default(true) })
    .prefault({})
    .describe(
      'Creates the Secrets <service>-tls with cert-manager. If disabled, they must exist. Ignored with `transport: mesh`.',
    ),
  networkPolicies: z
    .strictObject({
      clients: z.array(anything).default([]).describe('Who may connect to the public port. []: everyone.'),
      prometheus: peers.default([prometheusPods]),
      limiterClients: peers.default([limiterClientPods]).describe('Services of other teams that may call the limiter.'),
      operators: peers
        .default([operatorPods])
        .describe('Who may connect to the admin service: your Ingress controller, for example.'),
      postgres: ports
        .default(tcp(5432, 6432))
        .describe('Ports of backends and providers, inside or outside the cluster.'),
      redis: ports.default(tcp(6379, 26_379)),
      nats: ports.default(tcp(4222)),
      providers: ports.default(tcp(443)),
      collector: ports.default(tcp(4318)).describe('The endpoint for traces (OTEL_EXPORTER_OTLP_ENDPOINT).'),
    })
    .prefault({}),
  ingress: z
    .strictObject({
      enabled: z.boolean().default(false),
      className: z.string().default('nginx'),
      host: z.string().default('gateway.example.com'),
      tlsSecret: z.string().default('gateway-public-tls'),
      annotations: annotations.default({
        'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
        'nginx.ingress.kubernetes.io/proxy-request-buffering': 'off',
        'nginx.ingress.kubernetes.io/proxy-body-size': '64m',
        'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
        'nginx.ingress.kubernetes.io/proxy-send-timeout': '3600',
      }),
    })
    .prefault({}),
  adminIngress: z
    .strictObject({
      enabled: z.boolean().default(false),
      className: z.string().default('nginx'),
      host: z.string().default('gateway-admin.example.com'),
      tlsSecret: z.string().default('gateway-admin-public-tls'),
      annotations: annotations.default({
        'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
        'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
      }),
    })
    .prefault({})
    .describe(
      'The console and the admin API. Set ADMIN_PUBLIC_URL to https:// and its host in services.admin.settings (small form: in settings), and add the controller to networkPolicies.operators.',
    ),
  gatewayApi: z
    .strictObject({
      enabled: z.boolean().default(false),
      host: z.string().default('gateway.example.com'),
      parentRefs: z
        .array(
          z.strictObject({
            name: z.string(),
            namespace: z.string().exactOptional(),
            sectionName: z.string().exactOptional(),
          }),
        )
        .default([{ name: 'public', namespace: 'gateways' }]),
    })
    .prefault({}),
  alertRules: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Creates a PrometheusRule, which needs the Prometheus operator.'),
      runbooks: z
        .string()
        .default(defaultRunbooks)
        .describe('The address of docs/operate/runbooks in your copy of the repository: alerts link to it.'),
    })
    .prefault({})
    .describe('The alerts of deploy/observability.'),
  services: z
    .strictObject({
      edgeRouter: z
        .strictObject({
          ...sizes({ replicas: 3, maxReplicas: 20, heapMiB: 512, cpu: '500m' }),
          bodyMemoryMiB: count(512, 'BODY_MEMORY_MAX_MIB: memory for request bodies per edge.', 64),
          volumeClaim: anything.default(volumeClaim).describe('The volume claim of the outbox.'),
        })
        .prefault({}),
      limiter: service({ replicas: 2, maxReplicas: 10, heapMiB: 256, cpu: '250m' }),
      poolBroker: service({ replicas: 2, maxReplicas: 6, heapMiB: 256, cpu: '250m' }),
      responsesAdapter: service({ replicas: 2, maxReplicas: 20, heapMiB: 384, cpu: '250m' }),
      messagesAdapter: service({ replicas: 2, maxReplicas: 20, heapMiB: 384, cpu: '250m' }),
      identity: service({ replicas: 2, maxReplicas: 6, heapMiB: 192, cpu: '100m' }),
      usageIngest: service({ replicas: 2, maxReplicas: 6, heapMiB: 256, cpu: '100m' }),
      usageQuery: service({ replicas: 2, maxReplicas: 6, heapMiB: 256, cpu: '100m' }),
      admin: z
        .strictObject({
          ...sizes({ replicas: 2, maxReplicas: 4, heapMiB: 256, cpu: '100m' }),
          settings: settings.default({ ADMIN_ALLOWED_HOSTS: 'admin' }),
        })
        .prefault({}),
    })
    .prefault({})
    .describe(
      'Memory is derived from `heapMiB`. A Node.js process uses a little more than one core. `nodeSelector` and `tolerations` add to those of `pods`; an `affinity` replaces that of `pods`.',
    ),
});

/** values.schema.json, in the draft that every Helm 3 reads. */
export const valuesJsonSchema = z.toJSONSchema(valuesSchema, { io: 'input', target: 'draft-7' });

export type Values = z.output<typeof valuesSchema>;

export const defaultValues: Values = valuesSchema.parse({});

interface Sizes {
  readonly replicas: number;
  readonly maxReplicas: number;
  readonly heapMiB: number;
  readonly cpu: string;
}

function service(usual: Sizes) {
  return z.strictObject(sizes(usual)).prefault({});
}

function sizes({ replicas, maxReplicas, heapMiB, cpu }: Sizes) {
  return {
    replicas: count(replicas, 'The minimum; without autoscaling, the exact number.'),
    maxReplicas: count(maxReplicas),
    heapMiB: count(heapMiB, undefined, 64),
    cpuRequest: quantity(cpu),
    cpuLimit: quantity('2'),
    settings: settings.default({}),
    ...placementOfService(),
  };
}

/** Where the pods of one service may run, beside `pods`. */
function placementOfService() {
  return {
    nodeSelector: annotations.default({}),
    tolerations: z.array(toleration).default([]),
    affinity: anything.default({}),
  };
}

function text(pattern: RegExp, usual: string) {
  return z.string().regex(pattern).default(usual);
}

function objectName(usual: string) {
  return text(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, usual);
}

function quantity(usual: string) {
  return text(/^[0-9]+(\.[0-9]+)?m?$/, usual);
}

function count(usual: number, description?: string, least = 1) {
  const number = z.int().min(least).max(1_000_000).default(usual);
  return description === undefined ? number : number.describe(description);
}

function tcp(...numbers: readonly number[]) {
  return numbers.map((port) => ({ protocol: 'TCP' as const, port }));
}
