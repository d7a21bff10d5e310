import type { z } from 'zod';
import { mergeVariants, onlyIf } from './helm-conditions.ts';
import type { Files } from './kustomize.ts';
import { asHook, autoscalers, certificates, coreManifests } from './manifests.ts';
import { adminIngress, httpRoute, ingress } from './objects/entrances.ts';
import type { Transport } from './objects/pod.ts';
import { placeholdersOf, toTemplate } from './placeholders.ts';
import { defaultValues, type Values, valuesJsonSchema } from './values.ts';
import { documentText, withHeader, yamlOf } from './yaml-text.ts';

/** The Helm chart: the objects of the manifests for Kustomize, with placeholders for what an operator chooses. */
export function chartFiles(): Files {
  const values = placeholdersOf(defaultValues);
  const templates: readonly (readonly [string, string])[] = [
    ...coreTemplates(values),
    ['autoscaling', onlyIf('.Values.autoscaling.enabled', template(autoscalers(values)))],
    ['certificates', onlyIf('and .Values.certManager.enabled (eq .Values.transport "tls")', template(certificates()))],
    ['ingress', onlyIf('.Values.ingress.enabled', template([ingress(values)]))],
    ['admin-ingress', onlyIf('.Values.adminIngress.enabled', template([adminIngress(values)]))],
    ['gateway-api', onlyIf('.Values.gatewayApi.enabled', template([httpRoute(values)]))],
  ];
  return new Map([
    ['chart/Chart.yaml', withHeader(yamlOf([chart]))],
    ['chart/values.yaml', withHeader(documentText(defaultValues, descriptionAt))],
    ['chart/values.schema.json', `${JSON.stringify(valuesJsonSchema, null, 2)}\n`],
    ...templates.map(([name, text]) => [`chart/templates/${name}.yaml`, withHeader(text)] as const),
  ]);
}

const chart = {
  apiVersion: 'v2',
  name: 'model-gateway',
  description: 'An HTTP gateway in front of hosted language models, each of its services scaled by itself.',
  type: 'application',
  version: defaultValues.image.tag,
  appVersion: defaultValues.image.tag,
  kubeVersion: '>=1.27.0-0',
};

/** What differs with the transport, and with autoscaling, stands between conditions; all else stands once. */
function coreTemplates(values: Values): readonly (readonly [string, string])[] {
  const textsOf = (transport: Transport, autoscaled: boolean) =>
    new Map(
      [...coreManifests(values, { transport, autoscaled })].map(([name, objects]) => [name, template(asHook(objects))]),
    );
  const [tls, mesh, fixed] = [textsOf('tls', true), textsOf('mesh', true), textsOf('tls', false)];
  const fixedMesh = textsOf('mesh', false);
  const byTransport = (withTls = '', withMesh = '') => mergeVariants('eq .Values.transport "tls"', withTls, withMesh);
  return [...tls.keys()].map((name) => {
    const autoscaled = byTransport(tls.get(name), mesh.get(name));
    const notScaled = byTransport(fixed.get(name), fixedMesh.get(name));
    return [name, mergeVariants('.Values.autoscaling.enabled', autoscaled, notScaled)] as const;
  });
}

function template(objects: readonly object[]): string {
  return toTemplate(yamlOf(objects));
}

/** What the schema says of a value. */
function descriptionAt(names: readonly string[]): string | undefined {
  let at: Schema | undefined = valuesJsonSchema;
  for (const name of names) at = typeof at === 'object' ? at.properties?.[name] : undefined;
  return typeof at === 'object' ? at.description : undefined;
}

type Schema = z.core.JSONSchema._JSONSchema;
