import { type ClassConfig, type PoolConfig, type PoolFormat, poolFormats } from '@gateway/config';
import { z } from 'zod';

const providerModelSchema = z.object({
  id: z.string(),
  /** Empty when the provider has no display name. */
  displayName: z.string(),
});

/** The last report on a pool's model list. */
export const modelReportSchema = z.object({
  pool: z.string(),
  reportedAtMs: z.number(),
  /** False: the list could not be read at that time. */
  reachable: z.boolean(),
  /** Why it could not be read, for operators. */
  cause: z.string().optional(),
  /**
   * The interval of reports when this one arrived, or a longer one set since. Undefined: unknown.
   */
  refreshMs: z.number().optional(),
  /** The last list that could be read. Undefined: none yet. */
  models: z.array(providerModelSchema).readonly().optional(),
});

export type ModelReport = Readonly<z.infer<typeof modelReportSchema>>;
export type ProviderModel = Readonly<z.infer<typeof providerModelSchema>>;

export interface PoolModels {
  readonly pool: PoolConfig;
  /**
   * True when the provider's list is known and current; then the pool offers exactly these models.
   */
  readonly reachable: boolean;
  readonly models: readonly ProviderModel[];
}

export interface ListedModel {
  readonly id: string;
  readonly ownedBy: string;
  readonly name: string;
  /** The provider's models that it stands for, in order of preference. */
  readonly candidates: readonly string[];
}

/** `servedBy`: the labels of each account that can serve it, each combination once. */
export interface ServedModel extends ListedModel {
  readonly servedBy: readonly (readonly string[])[];
}

/**
 * Lists models in the order of the public listing. `pools`: those that have accounts; a class that
 * none of them can serve is left out.
 */
export function listModels(classes: readonly ClassConfig[], pools: readonly PoolModels[]): readonly ListedModel[] {
  const names = new Set(pools.map(({ pool }) => pool.name));
  const offered = classes
    .map(({ candidates, ...rest }) => ({ ...rest, candidates: candidates.filter(({ pool }) => names.has(pool)) }))
    .filter(({ candidates }) => candidates.length > 0);
  const direct = poolFormats.flatMap((format) => ownedModels(format, classes, pools));
  const seen = new Set<string>();
  const once = direct.filter(({ id }) => !seen.has(id) && seen.add(id));
  const classNames = offered.map(({ name }) => name);
  const readable = readableNames(once, classNames);
  return [
    ...offered.map(({ id, name, candidates }) => {
      return { id, ownedBy: 'gateway', name, candidates: candidates.map(({ model }) => model) };
    }),
    ...once.map(({ id, ownedBy }, index) => ({ id, ownedBy, name: readable[index] ?? id, candidates: [id] })),
  ];
}

function ownedModels(format: PoolFormat, classes: readonly ClassConfig[], pools: readonly PoolModels[]) {
  return pools
    .filter(({ pool }) => pool.format === format)
    .flatMap((each) => offeredBy(each, classes).map((model) => ({ ...model, ownedBy: each.pool.ownedBy })));
}

/**
 * While the list can't be read, only the models that classes use of a Responses pool are certain to
 * exist.
 */
function offeredBy({ pool, reachable, models }: PoolModels, classes: readonly ClassConfig[]): readonly ProviderModel[] {
  if (reachable) return models;
  if (pool.format !== 'responses') return [];
  const used = classes.flatMap(({ candidates }) => candidates).filter((candidate) => candidate.pool === pool.name);
  return used.map(({ model }) => models.find(({ id }) => id === model) ?? { id: model, displayName: '' });
}

/**
 * Names for models: a dated snapshot is named without its date, unless another model or a name in
 * `taken` conflicts.
 * @see spec "GET /v1/models", rule 2
 */
export function readableNames(models: readonly ProviderModel[], taken: readonly string[] = []): string[] {
  const names = models.map(nameWithoutDate);
  const uses = Map.groupBy([...taken, ...names], (name) => name);
  return names.map((name, index) => {
    const { date } = splitSnapshotDate(models[index]?.id ?? '');
    return date !== undefined && (uses.get(name)?.length ?? 0) > 1 ? `${name} (${date})` : name;
  });
}

function nameWithoutDate({ id, displayName }: ProviderModel): string {
  const { undated, date } = splitSnapshotDate(id);
  if (displayName === '' || displayName === id) return prettified(undated);
  return date === undefined ? displayName : displayName.replace(/ \(?20\d\d-?\d\d-?\d\d\)?$/, '');
}

/** claude-haiku-4-5 becomes "Claude Haiku 4.5", gpt-5.5-mini "GPT-5.5 mini". */
function prettified(id: string): string {
  const words = joinVersion(id.split('-'));
  const [first = id, second, ...rest] = words;
  const brand = brands.get(first);
  if (brand !== undefined) return [second === undefined ? brand : `${brand}-${second}`, ...rest].join(' ');
  if (first === 'claude') return words.map(capitalised).join(' ');
  return [/^o\d/.test(first) ? first : capitalised(first), ...words.slice(1)].join(' ');
}

// A hyphen follows these names.
const brands = new Map([
  ['gpt', 'GPT'],
  ['chatgpt', 'ChatGPT'],
]);

/** ["claude", "3", "5"] becomes ["claude", "3.5"]: ids write versions with hyphens. */
function joinVersion(words: readonly string[]): string[] {
  return words.reduce<string[]>((joined, word) => {
    const last = joined.at(-1);
    if (last !== undefined && /^\d{1,2}$/.test(last) && /^\d{1,2}$/.test(word)) joined.splice(-1, 1, `${last}.${word}`);
    else joined.push(word);
    return joined;
  }, []);
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/**
 * Splits a model id with a trailing date, written -20251001 or -2025-10-01, into the undated id and
 * the date as "2025-10-01".
 */
export function splitSnapshotDate(id: string): { readonly undated: string; readonly date: string | undefined } {
  const found =
    /^(?<undated>.+)-(?<year>20\d\d)(?<dash>-?)(?<month>0[1-9]|1[0-2])\k<dash>(?<day>0[1-9]|[12]\d|3[01])$/.exec(id);
  if (found?.groups === undefined) return { undated: id, date: undefined };
  const { undated = id, year, month, day } = found.groups;
  return { undated, date: `${year}-${month}-${day}` };
}
