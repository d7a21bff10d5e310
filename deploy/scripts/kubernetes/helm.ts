import type { z } from 'zod';
import { defaultRunbooks, ruleGroups } from '../observability/rule-files.ts';
import { type Files, simulatedProviders } from './kustomize.ts';
import { simulatorSetting } from './objects/development.ts';
import { defaultValues, type Values, valuesJsonSchema, type valuesSchema } from './values.ts';
import { documentText, withHeader, yamlOf } from './yaml-text.ts';

/**
 * The Helm chart without its templates: its version, the values that an operator chooses, and the
 * alerts, whose own templates Helm must not evaluate.
 */
export function chartFiles(): Files {
  return new Map([
    ['chart/Chart.yaml', withHeader(yamlOf([chart]))],
    ['chart/values.yaml', withHeader(documentText(defaultValues, descriptionAt))],
    ['chart/ci/development-values.yaml', withHeader(yamlOf([developmentValues()]))],
    ['chart/files/alert-rules.yaml', withHeader(documentText({ groups: ruleGroups(defaultRunbooks) }))],
    ['chart/values.schema.json', `${JSON.stringify(valuesJsonSchema, null, 2)}\n`],
  ]);
}

/** The values of the development overlay, to try the chart beside the backends of that overlay. */
function developmentValues(): z.input<typeof valuesSchema> {
  const one = { replicas: 1 };
  const keys = Object.keys(defaultValues.services) as (keyof Values['services'])[];
  return {
    transport: 'mesh',
    settings: { ...defaultValues.settings, ALLOW_DEVELOPMENT_SECRETS: 'true' },
    gatewayYaml: simulatedProviders(),
    autoscaling: { enabled: false },
    services: {
      ...Object.fromEntries(keys.map((key) => [key, one])),
      poolBroker: { ...one, settings: simulatorSetting },
    },
  };
}

const chart = {
  apiVersion: 'v2',
  name: 'model-gateway',
  description:
    'An HTTP gateway in front of hosted language models: in one pod, or each of its services scaled by itself.',
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
