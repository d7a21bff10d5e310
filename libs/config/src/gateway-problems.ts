import { z } from 'zod';
import { pathText } from './env-references.ts';

/**
 * What is wrong between the parts of a `gateway.yaml`: pools that do not exist, accounts named twice, traits of models that do
 * not go with their pool's format or with each other. Takes the file however broken the rest of it is, so that these are
 * reported together with problems of shape. Places in `known` have been reported already.
 */
export function problemsBetweenParts(value: unknown, known: ReadonlyMap<string, string>): string[] {
  const file = partsOf.parse(value);
  const found = [...poolProblems(file), ...duplicateAccounts(file), ...traitsProblems(file)];
  return found
    .map(({ path, text }) => ({ place: pathText(path), text }))
    .filter(({ place }) => !known.has(place))
    .map(({ place, text }) => `${place}: ${text}`);
}

interface Problem {
  readonly path: readonly PropertyKey[];
  readonly text: string;
}

const anyText = z.string().optional().catch(undefined);

/** What the checks need of a file, and nothing where it is not what it should be. */
const partsOf = z
  .object({
    pools: z
      .record(
        z.string(),
        z
          .object({
            format: z.string().catch(''),
            models: z.record(z.string(), z.record(z.string(), z.unknown()).catch({})).catch({}),
          })
          .catch({ format: '', models: {} }),
      )
      .catch({}),
    accounts: z.array(z.object({ pool: anyText, name: anyText }).catch({})).catch([]),
    classes: z
      .record(z.string(), z.object({ candidates: z.array(anyText).catch([]) }).catch({ candidates: [] }))
      .catch({}),
  })
  .catch({ pools: {}, accounts: [], classes: {} });

type Parts = z.output<typeof partsOf>;

function poolProblems({ pools, accounts, classes }: Parts): readonly Problem[] {
  const named = [
    ...accounts.map(({ pool }, index) => ({ path: ['accounts', index, 'pool'], pool })),
    ...Object.entries(classes).flatMap(([name, { candidates }]) =>
      candidates.map((candidate, index) => ({
        path: ['classes', name, 'candidates', index],
        pool: candidate?.match(/^([^/]+)\//)?.[1],
      })),
    ),
  ];
  const names = Object.keys(pools);
  const text = `there is no such pool; the pools are ${names.join(', ') || '(none)'}`;
  return named.filter(({ pool }) => pool !== undefined && !names.includes(pool)).map(({ path }) => ({ path, text }));
}

function duplicateAccounts({ accounts }: Parts): readonly Problem[] {
  const firstIndexOf = new Map<string, number>();
  return accounts.flatMap(({ pool, name }, index) => {
    if (pool === undefined || name === undefined) return [];
    const first = firstIndexOf.get(`${pool}/${name}`);
    if (first === undefined) firstIndexOf.set(`${pool}/${name}`, index);
    const text = `accounts[${first}] has the same name in the same pool`;
    return first === undefined ? [] : [{ path: ['accounts', index, 'name'], text }];
  });
}

function traitsProblems({ pools }: Parts): readonly Problem[] {
  return Object.entries(pools).flatMap(([pool, { format, models }]) =>
    Object.entries(models).flatMap(([pattern, traits]) =>
      problemsOfTraits(traits, format).map(({ path, text }) => ({
        path: ['pools', pool, 'models', pattern, ...path],
        text,
      })),
    ),
  );
}

type Traits = Readonly<Record<string, unknown>>;

function problemsOfTraits(traits: Traits, format: string): readonly Problem[] {
  if (format === 'responses') {
    return named(traits, messagesTraits, 'only models of a pool of format messages have this trait');
  }
  if (format !== 'messages') return [];
  const isAdaptive = traits.thinking !== 'none' && traits.thinking !== 'budget';
  const adaptiveOnly = isAdaptive ? [] : ['thinking_by_default', 'thinking_least'];
  return [...effortsOfOtherFormat(traits), ...named(traits, adaptiveOnly, 'goes with thinking: adaptive only')];
}

const messagesTraits = [
  ...['thinking', 'thinking_by_default', 'thinking_least'],
  ...['forced_tool_choice', 'structured_output', 'max_output_tokens'],
];

function named(traits: Traits, names: readonly string[], text: string): readonly Problem[] {
  return names.filter((name) => name in traits).map((name) => ({ path: [name], text }));
}

const responsesEfforts: readonly unknown[] = ['none', 'minimal'];

function effortsOfOtherFormat({ efforts }: Traits): readonly Problem[] {
  if (!Array.isArray(efforts)) return [];
  const text = 'must be one of low, medium, high, xhigh, max in a pool of format messages';
  return efforts.flatMap((effort, index) =>
    responsesEfforts.includes(effort) ? [{ path: ['efforts', index], text }] : [],
  );
}
