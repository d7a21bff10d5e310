import { ConfigError } from './env-reader.ts';
import { referencesIn } from './env-references.ts';
import type { Prices } from './gateway-config.ts';
import { partsOf, problemsBetweenParts } from './gateway-problems.ts';
import { gatewayFileSchema } from './gateway-schema.ts';
import { parseYaml } from './gateway-yaml.ts';
import { schemaProblems } from './schema-problems.ts';

/** The content of a `gateway.yaml` whose references are not resolved. */
export interface GatewayText {
  readonly value: unknown;
  /** The names in its references; whether they are set is unknown. */
  readonly references: ReadonlySet<string>;
  /** The pools whose format is written out, not a reference. */
  readonly pools: readonly { readonly name: string; readonly format: string }[];
  readonly accounts: readonly { readonly pool?: string | undefined; readonly name?: string | undefined }[];
  /** The models that classes and accounts name, where no pattern or reference stands for them. */
  readonly models: readonly string[];
  /** Undefined: there are none, or they contain references. */
  readonly prices: Prices;
  readonly hasPrices: boolean;
}

/**
 * Checks a text that a client sent. The check uses nothing of this machine: no variable and no
 * file. Rules about a value that contains a reference can't be checked and are skipped.
 * @throws one ConfigError with the first problems, each with a path.
 */
export function checkGatewayText(text: string): GatewayText {
  const { value } = parsed(text);
  const { names, places, problems } = referencesIn(value);
  const issues = gatewayFileSchema.safeParse(value).error?.issues ?? [];
  const ofSchema = schemaProblems(issues, problems).filter(
    ({ place, isOfAnyText }) => isOfAnyText || !places.has(place),
  );
  const all = [
    ...[...problems].map(([place, text]) => `${place}: ${text}`),
    ...ofSchema.map(({ place, text }) => `${place || 'the file'}: ${text}`),
    ...problemsBetweenParts(value, places),
  ];
  if (all.length > 0) throw new ConfigError(shortened(all));
  const { pools, accounts, classes, prices } = partsOf.parse(value);
  const written = Object.entries(pools).map(([name, { format }]) => ({ name, format }));
  const candidates = Object.values(classes).flatMap((each) => each.candidates);
  const named = [
    ...candidates.map((text) => text?.replace(/^[^/]*\//, '')),
    ...accounts.flatMap(({ models }) => models),
  ];
  return {
    ...{ value, references: names, accounts, prices },
    pools: written.filter(({ format }) => !format.includes('${')),
    models: named.filter((model): model is string => model !== undefined && !/[*$]/.test(model)),
    hasPrices: typeof value === 'object' && value !== null && 'prices' in value,
  };
}

function parsed(text: string) {
  try {
    return parseYaml(text, 'gateway.yaml');
  } catch (thrown) {
    throw thrown instanceof ConfigError ? new ConfigError(shortened(thrown.problems)) : thrown;
  }
}

/**
 * Paths and names come from the text, so the length of the answer is bounded in proportion to the
 * text.
 */
function shortened(problems: readonly string[]): readonly string[] {
  const first = problems.slice(0, maxProblems).map((text) => {
    return text.length > longestProblem ? `${text.slice(0, longestProblem)}…` : text;
  });
  const left = problems.length - first.length;
  return left === 0 ? first : [...first, `and ${left} more`];
}

const maxProblems = 100;
const longestProblem = 500;
