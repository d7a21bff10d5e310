import { z } from 'zod';
import type { Rendered } from './rendered.ts';

const text = z.string();
const texts = z.record(text, text);

const probe = z.looseObject({
  httpGet: z.looseObject({ port: z.union([text, z.number()]), scheme: text, path: text }).optional(),
});

const container = z.looseObject({
  name: text,
  image: text,
  args: z.array(text).default([]),
  ports: z.array(z.looseObject({ name: text, containerPort: z.number() })).default([]),
  env: z
    .array(
      z.looseObject({
        name: text,
        value: text.optional(),
        valueFrom: z
          .looseObject({
            secretKeyRef: z.looseObject({ name: text, key: text, optional: z.boolean().optional() }).optional(),
          })
          .optional(),
      }),
    )
    .default([]),
  envFrom: z.array(z.record(text, z.looseObject({ name: text, optional: z.boolean().default(false) }))).default([]),
  resources: z
    .looseObject({ requests: texts.default({}), limits: texts.default({}) })
    .default({ requests: {}, limits: {} }),
  startupProbe: probe.optional(),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  securityContext: z.looseObject({}).default({}),
  volumeMounts: z.array(z.looseObject({ name: text, mountPath: text })).default([]),
});

const podSpec = z.looseObject({
  automountServiceAccountToken: z.boolean().optional(),
  serviceAccountName: text.optional(),
  terminationGracePeriodSeconds: z.number().optional(),
  securityContext: z.looseObject({}).default({}),
  initContainers: z.array(container).default([]),
  containers: z.array(container),
  volumes: z
    .array(
      z.looseObject({
        name: text,
        secret: z.looseObject({ secretName: text, optional: z.boolean().default(false) }).optional(),
        configMap: z.looseObject({ name: text }).optional(),
      }),
    )
    .default([]),
});

export type Container = z.output<typeof container>;

/** The pods that an object creates. */
export interface Pods {
  readonly owner: string;
  readonly kind: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: z.output<typeof podSpec>;
}

const template = z.looseObject({
  metadata: z.looseObject({ labels: texts, annotations: texts.default({}) }),
  spec: podSpec,
});
const withTemplate = z.looseObject({ spec: z.looseObject({ template }) });
const withSpec = z.looseObject({ spec: podSpec });

export function podsIn(objects: readonly Rendered[]): readonly Pods[] {
  return objects.flatMap(({ kind, name, labels, document }) => {
    if (kind === 'Pod') return [{ owner: name, kind, labels, annotations: {}, spec: withSpec.parse(document).spec }];
    if (!['Deployment', 'StatefulSet', 'Job'].includes(kind)) return [];
    const { metadata, spec } = withTemplate.parse(document).spec.template;
    return [{ owner: name, kind, ...metadata, spec }];
  });
}

/** The labels by which an object selects pods. */
export function selectorOf({ kind, name, document }: Rendered): Readonly<Record<string, string>> {
  const spec = z.looseObject({ spec: z.looseObject({}) }).parse(document).spec;
  const selector = kind === 'NetworkPolicy' ? spec.podSelector : spec.selector;
  const labels = kind === 'Service' ? selector : z.looseObject({ matchLabels: texts }).parse(selector).matchLabels;
  const found = texts.parse(labels);
  if (Object.keys(found).length === 0) throw new Error(`${kind} ${name} selects every pod`);
  return found;
}

export function selects(selector: Readonly<Record<string, string>>, { labels }: Pods): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}
