import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderChart } from './__fixtures__/helm-templates.ts';
import { type Rendered, renderedIn, renderFile, renderFolder, toRendered } from './__fixtures__/rendered.ts';
import { coreManifests } from './manifests.ts';
import { defaultValues, type Values, valuesJsonSchema, valuesSchema } from './values.ts';

const chartFolder = join(import.meta.dirname, '../../kubernetes/chart');
const fileText = (path: string) => readFileSync(join(chartFolder, path), 'utf8');

describe('the Helm chart', () => {
  let templates: ReadonlyMap<string, string>;

  beforeAll(async () => {
    const paths = await Array.fromAsync(glob('templates/*.{yaml,tpl}', { cwd: chartFolder }));
    templates = new Map(paths.toSorted().map((path) => [path, fileText(path)]));
    expect(templates.size).toBeGreaterThan(10);
  });

  const render = (values: Values, used?: Set<string>) =>
    [...renderChart(templates, values, used)].flatMap(([path, text]) =>
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

  it('uses every value', () => {
    const used = new Set<string>();
    const on = { enabled: true };
    for (const autoscaling of [on, off]) {
      render(valuesSchema.parse({ ingress: on, adminIngress: on, gatewayApi: on, autoscaling }), used);
    }
    expect(pathsOf(defaultValues, '').filter((path) => !used.has(path))).toEqual([]);
  });

  it('equals the production overlay by default', async () => {
    const overlay = await renderFolder('overlays/production');
    expect(byName(render(defaultValues))).toEqual(byName(overlay));
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

  it('migrates before anything else is installed or upgraded', () => {
    const [job] = render(defaultValues).filter(({ kind }) => kind === 'Job');
    expect(job?.document.metadata).toMatchObject({
      annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade', 'helm.sh/hook-delete-policy': 'before-hook-creation' },
    });
    // The objects that do not exist when the hook runs for the first time.
    expect(JSON.stringify(job?.document)).not.toMatch(/configMap/i);
  });
});

describe('a rendered template', () => {
  const render = (text: string) =>
    renderChart(new Map([['a.yaml', text]]), { on: true, off: false, size: 3, list: ['b', 'c'], map: { z: 'y' } }).get(
      'a.yaml',
    );

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
    ['a:\n  {{- toYaml .Values.map | nindent 2 }}', 'a:\n  z: y'],
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
    edgeRouter: { replicas: 5, heapMiB: 1_024, bodyMemoryMiB: 2_048, volumeClaim: { storageClassName: 'fast' } },
    limiter: { cpuRequest: '1.5', settings: { LIMITER_REPLICAS: '4' } },
  },
};

/** Ignores Helm's own annotations, and the namespace that an overlay adds. */
function byName(objects: readonly Rendered[]): Readonly<Record<string, unknown>> {
  const entries = objects.map(({ kind, name, document }) => {
    const { annotations, namespace: _, ...metadata } = Object(document.metadata);
    const isOfHelm = Object.keys(annotations ?? {}).some((key) => key.startsWith('helm.sh/'));
    const kept = annotations === undefined || isOfHelm ? metadata : { ...metadata, annotations };
    return [`${kind}/${name}`, { ...document, metadata: kept }] as const;
  });
  expect(new Set(entries.map(([key]) => key)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}

function pathsOf(value: unknown, path: string): readonly string[] {
  const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isGroup || /\.(settings|annotations|volumeClaim)$/.test(`.${path}`)) return [path];
  return Object.entries(value).flatMap(([name, member]) => pathsOf(member, path === '' ? name : `${path}.${name}`));
}
