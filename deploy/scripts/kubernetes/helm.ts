import type { z } from 'zod';
import type { Files } from './kustomize.ts';
import { defaultValues, valuesJsonSchema } from './values.ts';
import { documentText, withHeader, yamlOf } from './yaml-text.ts';

/** The Helm chart without its templates: its version, and the values that an operator chooses. */
export function chartFiles(): Files {
  return new Map([
    ['chart/Chart.yaml', withHeader(yamlOf([chart]))],
    ['chart/values.yaml', withHeader(documentText(defaultValues, descriptionAt))],
    ['chart/values.schema.json', `${JSON.stringify(valuesJsonSchema, null, 2)}\n`],
  ]);
}

const chart = {
  apiVersion: 'v2',
  name: 'model-gateway',
  description: 'An HTTP gateway in front of hosted language models, with independently scaled services.',
  type: 'application',
  version: defaultValues.image.tag,
  appVersion: defaultValues.image.tag,
  kubeVersion: '>=1.27.0-0',
};

/** The schema's description of a value. */
function descriptionAt(names: readonly string[]): string | undefined {
  let at: Schema | undefined = valuesJsonSchema;
  for (const name of names) at = typeof at === 'object' ? at.properties?.[name] : undefined;
  return typeof at === 'object' ? at.description : undefined;
}

type Schema = z.core.JSONSchema._JSONSchema;
