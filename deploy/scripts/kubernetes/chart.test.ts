import { readFileSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { operatorFiles } from '../observability/operator-objects.ts';
import { isMap } from './__fixtures__/helm-syntax.ts';
import { renderChart } from './__fixtures__/helm-templates.ts';
import { podsIn } from './__fixtures__/pods.ts';
import { type Rendered, renderedIn, renderFile, renderFolder, toRendered } from './__fixtures__/rendered.ts';
import { schemaProblems } from './__fixtures__/strict-schemas.ts';
import { coreManifests, smallManifests } from './manifests.ts';
import { services } from './services.ts';
import { defaultValues, type Values, valuesJsonSchema, valuesSchema } from './values.ts';

const chartFolder = join(import.meta.dirname, '../../kubernetes/chart');
const fileText = (path: string) => readFileSync(join(chartFolder, path), 'utf8');
const files = new Map(['files/alert-rules.yaml'].map((path) => [path, fileText(path)]));

describe('the Helm chart', () => {
  let templates: ReadonlyMap<string, string>;

  beforeAll(async () => {
    const paths = await Array.fromAsync(glob('templates/*.{yaml,tpl}', { cwd: chartFolder }));
    templates = new Map(paths.toSorted().map((path) => [path, fileText(path)]));
    expect(templates.size).toBeGreaterThan(10);
  });

  const render = (values: Values, used?: Set<string>) =>
    [...renderChart(templates, values, used, files)].flatMap(([path, text]) =>
      path.endsWith('.tpl') ? [] : renderedIn(text),
    );

  it('has values that fit its schema, which takes no others', () => {
    const values: unknown = parse(fileText('values.yaml'));
    expect(valuesSchema.parse(values)).toEqual(values);
    expect(values).toEqual(defaultValues);
    expect(JSON.parse(fileText('values.schema.json'))).toEqual(JSON.parse(JSON.stringify(valuesJsonSchema)));
    expect(valuesSchema.safeParse({ services: { limitr: {} } }).success).toBe(false);
    expect(valuesSchema.safeParse({ image: { tag: 'a"\n' } }).success).toBe(false);
  });

  it('has a schema whose regular expressions Helm can read, which are those of Go', () => {
    const schema = JSON.parse(fileText('values.schema.json'));
    const patterns = valuesNamed('pattern', schema);
    expect(patterns.length).toBeGreaterThan(2);
    expect(patterns.filter((pattern) => /\(\?(?![:P])|\\[1-9k]/.test(String(pattern)))).toEqual([]);
    expect(valuesSchema.safeParse({ pods: { labels: { 'app.kubernetes.io/name': 'x' } } }).success).toBe(false);
    expect(valuesSchema.safeParse({ pods: { labels: { team: 'x' } } }).success).toBe(true);
  });

  it('uses every value', () => {
    const used = new Set<string>();
    const on = { enabled: true };
    const entrances = {
      ingress: on,
      adminIngress: on,
      gatewayApi: on,
      alertRules: on,
      serviceAccount: { create: true },
    };
    for (const autoscaling of [{ ...on, metric: 'openStreams' }, off]) {
      render(valuesSchema.parse({ ...entrances, autoscaling }), used);
    }
    render(valuesSchema.parse({ ...entrances, form: 'small' }), used);
    expect(pathsOf(defaultValues, '').filter((path) => !used.has(path))).toEqual([]);
  });

  it('equals the production overlay by default', async () => {
    const overlay = await renderFolder('overlays/production');
    expect(byName(render(defaultValues))).toEqual(byName(overlay));
  });

  it('is, in its small form, what the small overlay is', async () => {
    const overlay = await renderFolder('overlays/small');
    expect(byName(render(valuesSchema.parse({ form: 'small' })))).toEqual(byName(overlay));
  });

  it('is, with the values for trials, the development overlay without its backends', async () => {
    const values = valuesSchema.parse(parse(fileText('ci/development-values.yaml')));
    const backends = new Set((await renderFile('overlays/development/backends.yaml')).map(nameOf));
    const overlay = (await renderFolder('overlays/development')).filter((object) => !backends.has(nameOf(object)));
    expect(asPatched(render(values))).toEqual(asPatched(overlay));
  });

  it('has the autoscalers of the cluster that serves the number of open streams', async () => {
    const values = valuesSchema.parse({ autoscaling: { metric: 'openStreams' } });
    const autoscalers = render(values).filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
    expect(byName(autoscalers)).toEqual(byName(await renderFolder('autoscaling-by-streams')));
  });

  it('is the manifests of every choice of transport and autoscaling', () => {
    const others = { ingress: off, adminIngress: off, gatewayApi: off, certManager: { enabled: false } };
    for (const transport of ['tls', 'mesh'] as const) {
      for (const autoscaled of [true, false]) {
        const values = valuesSchema.parse({ ...others, transport, autoscaling: { enabled: autoscaled } });
        const expected = [...coreManifests(values, { transport, autoscaled }).values()].flat().map(toRendered);
        const rendered = render(values).filter(({ kind }) => kind !== 'HorizontalPodAutoscaler');
        expect(byName(rendered)).toEqual(byName(expected));
      }
    }
  });

  it('is the manifests of other values', () => {
    const values = valuesSchema.parse(otherValues);
    const expected = [...coreManifests(values, { transport: 'mesh', autoscaled: false }).values()].flat();
    expect(byName(render(values))).toEqual(byName(expected.map(toRendered)));
    expect(JSON.stringify(expected)).toContain('"terminationGracePeriodSeconds":7240');
    expect(JSON.stringify(expected)).toContain('registry.example.com/gateway:2.0.0-rc.1');
    expect(expected.find(({ kind }) => kind === 'Job')?.metadata?.name).toBe('migrate-2-0-0-rc-1');
  });

  it.each(['full', 'small'])('takes a digest, which wins over the tag in every container: %s', (form) => {
    const digest = `sha256:${'5e'.repeat(32)}`;
    const image = { repository: 'registry.example.com/gateway', tag: '2.0.0', digest };
    const rendered = render(valuesSchema.parse({ form, image }));
    const images = podsIn(rendered).flatMap(({ spec }) =>
      [...spec.initContainers, ...spec.containers].map((container) => container.image),
    );
    expect(new Set(images)).toEqual(new Set([`registry.example.com/gateway@${digest}`]));
    const jobs = rendered.filter(({ kind }) => kind === 'Job').map(({ name }) => name);
    expect(jobs).toEqual(form === 'full' ? [`migrate-sha256-${'5e'.repeat(21)}5`] : []);
  });

  it.each(['sha256:5e', '5e'.repeat(32), `sha256:${'5E'.repeat(32)}`])('refuses the digest %s', (digest) => {
    expect(valuesSchema.safeParse({ image: { digest } }).success).toBe(false);
  });

  it('is, in its small form, the manifests of other values', () => {
    const values = valuesSchema.parse({ ...otherValues, form: 'small' });
    const expected = [...smallManifests(values).values()].flat();
    expect(byName(render(values))).toEqual(byName(expected.map(toRendered)));
  });

  it.each(['full', 'small'])('fits the schemas of Kubernetes with every choice made: %s', (form) => {
    const on = { enabled: true };
    const autoscaling = { ...on, metric: 'openStreams' };
    const chosen = { ...otherValues, form, autoscaling, ingress: on, adminIngress: on, gatewayApi: on, alertRules: on };
    const rendered = render(valuesSchema.parse(chosen));
    expect(
      rendered.flatMap(({ kind, name, document }) => schemaProblems(document).map((text) => [kind, name, text])),
    ).toEqual([]);
  });

  it.each(['full', 'small'])('puts every pod where it is asked to: %s', (form) => {
    const { pods, storageClassName, publicService } = otherValues;
    const rendered = render(valuesSchema.parse({ ...otherValues, form }));
    const made = podsIn(rendered);
    expect(made.length).toBe(form === 'full' ? services.length + 1 : 1);
    const { annotations, labels, env, ...placement } = pods;
    for (const { annotations: found, labels: foundLabels, spec } of made) {
      expect(found).toEqual(annotations);
      expect(foundLabels).toMatchObject(labels);
      const isLimiter = foundLabels['app.kubernetes.io/name'] === 'limiter';
      if (!isLimiter) expect(spec).toMatchObject(placement);
      for (const container of [...spec.initContainers, ...spec.containers])
        expect(container.env.slice(0, env.length)).toEqual(env);
    }
    const [claim] = rendered.filter(({ kind }) => kind === 'StatefulSet');
    expect(claim?.document.spec).toMatchObject({ volumeClaimTemplates: [{ spec: { storageClassName } }] });
    const [gateway] = rendered.filter(({ kind, name }) => kind === 'Service' && name === 'gateway');
    expect(gateway?.document.spec).toMatchObject({ type: publicService.type });
    expect(gateway?.document.metadata).toMatchObject({ annotations: publicService.annotations });
  });

  it('puts the pods of a service where both it and all pods are asked to', () => {
    const { pods, services: own } = otherValues;
    const specOf = (name: string) =>
      podsIn(render(valuesSchema.parse(otherValues))).find(({ labels }) => labels['app.kubernetes.io/name'] === name)
        ?.spec;
    expect(specOf('limiter')).toMatchObject({
      nodeSelector: { ...pods.nodeSelector, ...own.limiter.nodeSelector },
      tolerations: [...pods.tolerations, ...own.limiter.tolerations],
      affinity: own.limiter.affinity,
    });
  });

  it.each(['full', 'small'])(
    'gives every pod the service account, but the migration none that is to come: %s',
    (form) => {
      const accounts = (serviceAccount: object) => {
        const rendered = render(valuesSchema.parse({ form, serviceAccount }));
        const made = rendered.filter(({ kind }) => kind === 'ServiceAccount').map(({ name }) => name);
        const named = podsIn(rendered).map(({ labels, spec }) => [
          labels['app.kubernetes.io/name'],
          spec.serviceAccountName,
        ]);
        const ofServices = new Set(named.filter(([name]) => name !== 'migrate').map(([, account]) => account));
        return { made, ofServices, ofMigration: named.find(([name]) => name === 'migrate')?.[1] };
      };
      const isFull = form === 'full';
      const all = (name: string | undefined) => new Set([name]);
      expect(accounts({})).toEqual({ made: [], ofServices: all(undefined), ofMigration: undefined });
      expect(accounts({ name: 'ours' })).toEqual({
        made: [],
        ofServices: all('ours'),
        ofMigration: isFull ? 'ours' : undefined,
      });
      expect(accounts({ create: true })).toMatchObject({ made: ['model-gateway'], ofServices: all('model-gateway') });
      expect(accounts({ create: true, name: 'ours' })).toEqual({
        made: ['ours'],
        ofServices: all('ours'),
        ofMigration: undefined,
      });
    },
  );

  it('takes no labels that would replace those by which pods are selected', () => {
    const taking = (label: string) => valuesSchema.safeParse({ pods: { labels: { [label]: 'x' } } }).success;
    expect([taking('cost-centre'), taking('app.kubernetes.io/name')]).toEqual([true, false]);
  });

  it.each(['full', 'small'])('refers only to the Secrets that its values name: %s', (form) => {
    const names = Object.keys(defaultValues.secrets).map((name) => [name, `ours-${name.toLowerCase()}`]);
    const values = valuesSchema.parse({ form, transport: 'mesh', secrets: Object.fromEntries(names) });
    const found = JSON.stringify(podsIn(render(values))).matchAll(
      /"(?:secretKeyRef|secretRef|secret)":\{"(?:secretN|n)ame":"([^"]+)"/g,
    );
    const used = new Set([...found].map(([, name]) => name));
    const ofSmall = ['identity', 'accounts', 'admin', 'oidc', 'providers'];
    const expected = names.filter(([name = '']) => form === 'full' || ofSmall.includes(name)).map(([, name]) => name);
    expect([...used].toSorted()).toEqual(expected.toSorted());
  });

  it('has the Ingresses and the route of the examples when they are asked for', async () => {
    const on = { enabled: true };
    const rendered = render(valuesSchema.parse({ ingress: on, adminIngress: on, gatewayApi: on }));
    const kinds = ['Ingress', 'HTTPRoute'];
    const examples = await Promise.all(
      ['ingress', 'admin-ingress', 'gateway-api'].map((name) => renderFile(`examples/${name}.yaml`)),
    );
    expect(byName(rendered.filter(({ kind }) => kinds.includes(kind)))).toEqual(byName(examples.flat()));
  });

  it('has the alerts when they are asked for, with links to the runbooks of the operator', async () => {
    const rulesWith = (alertRules: object) =>
      render(valuesSchema.parse({ alertRules: { enabled: true, ...alertRules } })).filter(
        ({ kind }) => kind === 'PrometheusRule',
      );
    const usual = await readFile(join(chartFolder, '../../observability/kubernetes/rules.yaml'), 'utf8');
    expect(rulesWith({})).toEqual(renderedIn(usual));
    const own = operatorFiles('https://git.ours/gateway/docs/operate/runbooks').get('kubernetes/rules.yaml') ?? '';
    expect(rulesWith({ runbooks: 'https://git.ours/gateway/docs/operate/runbooks/' })).toEqual(renderedIn(own));
  });

  it('asks the console over TLS only where it has certificates', () => {
    const annotationsWith = (values: object) => {
      const rendered = render(valuesSchema.parse({ adminIngress: { enabled: true }, ...values }));
      return rendered.find(({ kind }) => kind === 'Ingress')?.document.metadata;
    };
    const overTls = { annotations: { 'nginx.ingress.kubernetes.io/backend-protocol': 'HTTPS' } };
    expect(annotationsWith({})).toMatchObject(overTls);
    expect(annotationsWith({ transport: 'mesh' })).not.toMatchObject(overTls);
    expect(annotationsWith({ form: 'small' })).not.toMatchObject(overTls);
  });

  it('migrates before anything else is installed or upgraded', () => {
    const [job] = render(defaultValues).filter(({ kind }) => kind === 'Job');
    expect(job?.document.metadata).toMatchObject({
      annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade', 'helm.sh/hook-delete-policy': 'before-hook-creation' },
    });
    expect(job?.name).toBe(`migrate-${defaultValues.image.tag.replaceAll('.', '-')}`);
    // What is not there yet when the hook runs for the first time.
    expect(JSON.stringify(job?.document)).not.toMatch(/configMap/i);
  });

  it('lets the migration reach Postgres before it runs, in a namespace that denies all traffic by default', () => {
    const hooks = render(defaultValues).flatMap(({ kind, name, labels, document }) => {
      const { annotations } = z
        .object({ annotations: z.record(z.string(), z.string()).optional() })
        .parse(document.metadata);
      const phases = annotations?.['helm.sh/hook'];
      return phases === undefined
        ? []
        : [{ kind, name, labels, phases, weight: Number(annotations?.['helm.sh/hook-weight']) }];
    });
    const [policy, job, ...others] = hooks.toSorted((one, other) => one.weight - other.weight);
    expect([policy?.kind, job?.kind, others]).toEqual(['NetworkPolicy', 'Job', []]);
    expect(policy?.weight).toBeLessThan(job?.weight ?? 0);
    expect(policy?.phases).toBe(job?.phases);
  });
});

describe('a rendered template', () => {
  const render = (text: string) =>
    renderChart(
      new Map([['a.yaml', text]]),
      { on: true, off: false, size: 3, list: ['b', 'c'], map: { z: 'y' } },
      new Set(),
      new Map([['b.txt', '{{ c }}']]),
    ).get('a.yaml');

  it.each([
    ['a:\n  {{- if .Values.on }} yes\n  {{- else }} no\n  {{- end }}\n', 'a: yes\n'],
    ['{{ if and .Values.on (not .Values.on) }}yes{{ else }}no{{ end }}', 'no'],
    ['{{- /* said to people */ -}}\n{{ add (mul 2 .Values.size) 1 }}', '7'],
    ['{{- range $item := .Values.list }}\n- {{ $item | quote }} {{ $.Values.size }}\n{{- end }}', '\n- "b" 3\n- "c" 3'],
    [
      '{{- range $key, $value := .Values.map }}{{ $other := $value }}{{ kebabcase "aKey" }} {{ $key }} {{ $other }}{{ end }}',
      'a-key z y',
    ],
    ['{{ define "x" }}{{ .a }}\n-{{ end }}b:\n  {{- include "x" (dict "a" "c") | nindent 2 }}', 'b:\n  c\n  -'],
    ['{{ toJson (merge (dict "z" "x") .Values.map (dict "w" "v")) }}', '{"w":"v","z":"x"}'],
    ['{{ regexReplaceAll "[._]+" "2.._A.b" "-" | lower | trunc 4 | trimSuffix "-" }}', '2-a'],
    ['a:\n  {{- toYaml .Values.map | nindent 2 }}', 'a:\n  z: y'],
    ['a:\n  {{- .Files.Get "b.txt" | replace "c" "d" | nindent 2 }}', 'a:\n  {{ d }}'],
  ])('%j is %j', (text, expected) => {
    expect(render(text)).toBe(expected);
  });

  it.each([
    '{{ .Values.nothing }}',
    '{{ .Values.map }}',
    '{{ range .Values.size }}{{ end }}',
    'a: {{ .Values.size',
    '{{ if .Values.on }}',
    '{{ with .Values.map }}{{ end }}',
    '{{ include "nothing" . }}',
    '{{ lookup "v1" }}',
  ])('%j is refused', (text) => {
    expect(() => render(text)).toThrow();
  });
});

const off = { enabled: false };

const otherValues = {
  pods: {
    labels: { 'cost-centre': 'models' },
    annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' },
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'gateway', effect: 'NoSchedule' }],
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    priorityClassName: 'important',
    env: [{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
  },
  serviceAccount: { create: true, annotations: { 'iam.example.com/role': 'gateway' } },
  publicService: { type: 'LoadBalancer', annotations: { 'service.example.com/internal': 'true' } },
  storageClassName: 'fast',
  small: { heapMiB: 300, bodyMemoryMiB: 200, drainSeconds: 20 },
  image: { repository: 'registry.example.com/gateway', tag: '2.0.0-rc.1', pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'registry' }],
  transport: 'mesh',
  maxStreamSeconds: 7_200,
  settings: { LOG_LEVEL: 'debug', LIMITER_FAILURE_MODE: 'closed' },
  gatewayYaml: '  pools: {}\n  # "quoted" {{ braces }}\n',
  autoscaling: off,
  certManager: off,
  networkPolicies: { clients: [{ namespaceSelector: {} }], providers: [{ protocol: 'TCP', port: 3128 }] },
  services: {
    edgeRouter: { replicas: 5, heapMiB: 1_024, bodyMemoryMiB: 2_048, volumeClaim: { storageClassName: 'slow' } },
    limiter: {
      cpuRequest: '1.5',
      settings: { LIMITER_RECONCILE_SECONDS: '4' },
      nodeSelector: { lifecycle: 'on-demand' },
      tolerations: [{ key: 'limiter', operator: 'Exists' }],
      affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    },
  },
};

/** Ignores annotations of hooks and of the migration Job, and the namespace of an overlay. */
function byName(objects: readonly Rendered[]): Readonly<Record<string, unknown>> {
  const entries = objects.map(({ kind, name, document }) => {
    const { annotations, namespace: _, ...metadata } = Object(document.metadata);
    const isOfDeployer = kind === 'Job' || 'helm.sh/hook' in Object(annotations);
    const kept = annotations === undefined || isOfDeployer ? metadata : { ...metadata, annotations };
    return [`${kind}/${name}`, { ...document, metadata: kept }] as const;
  });
  expect(new Set(entries.map(([key]) => key)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}

function nameOf({ kind, name }: Rendered): string {
  return `${kind}/${name}`;
}

/** As patches leave it: members and lists are in another order, and one replica may be left out. */
function asPatched(objects: readonly Rendered[]): unknown {
  return JSON.parse(JSON.stringify(byName(objects)), (key, value) => {
    if (Array.isArray(value)) return value.map((item) => JSON.stringify(item)).toSorted();
    if (isMap(value)) return Object.fromEntries(Object.entries(value).toSorted());
    return key === 'replicas' && value === 1 ? undefined : value;
  });
}

function pathsOf(value: unknown, path: string): readonly string[] {
  const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isGroup || /\.(settings|annotations|labels|nodeSelector|affinity|volumeClaim)$/.test(`.${path}`)) return [path];
  return Object.entries(value).flatMap(([name, member]) => pathsOf(member, path === '' ? name : `${path}.${name}`));
}

/** The values of all members of this name, at any depth. */
function valuesNamed(name: string, value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [
    ...(key === name && typeof member === 'string' ? [member] : []),
    ...valuesNamed(name, member),
  ]);
}
