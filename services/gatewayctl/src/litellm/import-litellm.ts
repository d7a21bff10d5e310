import { ConfigError, parseGatewayFile, parseYaml } from '@gateway/config';
import { classesOf, type ImportedClass } from './classes.ts';
import { type Deployment, readDeployment } from './deployments.ts';
import { type Finding, Findings, isMap } from './findings.ts';
import { poolsOf } from './gateway-parts.ts';
import { gatewayText } from './gateway-text.ts';
import { InputValue } from './input-value.ts';
import { isVariableName, Keys, type NeededVariable, variableIn } from './keys.ts';
import { pricesOf } from './prices.ts';
import { settingsOf } from './settings.ts';

/** What an import makes of a LiteLLM configuration. */
export interface LitellmImport {
  /** The text of gateway.yaml, which the gateway can load. Undefined: no model can be taken. */
  readonly text: string | undefined;
  readonly variables: readonly NeededVariable[];
  /** What clients send now, for each model name of LiteLLM that is taken. */
  readonly modelNames: readonly ModelName[];
  readonly counts: {
    readonly models: number;
    readonly taken: number;
    readonly pools: number;
    readonly accounts: number;
  };
  readonly notes: readonly Finding[];
  readonly left: readonly Finding[];
}

export interface ModelName {
  readonly from: string;
  readonly to: string;
}

/**
 * Translates a LiteLLM configuration. Nothing in it is executed, and no other file is read.
 * @param name of the input, for messages.
 * @throws ConfigError with file, line and column, if the text is no YAML.
 */
export function importLitellm(text: string, name: string): LitellmImport {
  // Python's YAML has merge keys.
  const { value } = parseYaml(text, name, { mergeKeys: true });
  const findings = new Findings();
  const root = new InputValue(value, findings);
  if (!isMap(value)) throw new ConfigError([`${name}:1:1: it is no configuration of LiteLLM: the file is not a map.`]);
  const keys = new Keys(variablesIn(value));
  const credentials = credentialsOf(root);
  const entries = root.at('model_list').items();
  const deployments = entries.flatMap((entry) => readDeployment(entry, keys, credentials) ?? []);
  const pools = poolsOf(deployments);
  const classes = classesOf(root, deployments.filter(isNamed), pools);
  const gateway = { pools, classes, prices: pricesOf(deployments), settings: settingsOf(root) };
  const { left, notes } = findings.of(value);
  const written = pools.length === 0 ? undefined : gatewayText(gateway, name, left);
  if (written !== undefined) checkLoads(written, keys.needed);
  return {
    ...{ text: written, left, notes, variables: keys.needed, modelNames: modelNamesOf(deployments, classes) },
    counts: {
      models: entries.length,
      taken: deployments.length,
      pools: pools.length,
      accounts: pools.flatMap(({ accounts }) => accounts).length,
    },
  };
}

/** A deployment that clients name: not a pattern for many models. */
function isNamed({ group, model }: Deployment): boolean {
  return !group.includes('*') && !model.includes('*');
}

function credentialsOf(root: InputValue): ReadonlyMap<string, InputValue> {
  const entries = root.at('credential_list').items();
  return new Map(
    entries.flatMap((entry) => {
      const name = entry.at('credential_name').text;
      return name === undefined ? [] : [[name, entry] as const];
    }),
  );
}

function modelNamesOf(deployments: readonly Deployment[], classes: readonly ImportedClass[]): readonly ModelName[] {
  const ofClasses = new Map(classes.map(({ group, name }) => [group, `gateway/${name}`]));
  const names = new Map(deployments.map((each) => [each.group, ofClasses.get(each.group) ?? each.model]));
  return [...names, ...ofClasses]
    .map(([from, to]) => ({ from, to }))
    .filter(({ from }, index, all) => all.findIndex((each) => each.from === from) === index);
}

/** The names of variables anywhere in the input. */
function variablesIn(value: unknown): ReadonlySet<string> {
  const found = JSON.stringify(value) ?? '';
  const names = [...found.matchAll(/os\.environ\/([A-Za-z_][A-Za-z0-9_]*)/g)].map(([text]) => variableIn(text) ?? '');
  return new Set(names.filter(isVariableName));
}

/** The gateway's own loader reads the text, with stand-ins for the variables. */
function checkLoads(text: string, variables: readonly NeededVariable[]): void {
  const env = Object.fromEntries(variables.map(({ name }) => [name, 'https://stand-in.invalid']));
  parseGatewayFile(text, 'gateway.yaml', env);
}
