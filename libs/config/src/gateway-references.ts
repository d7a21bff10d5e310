import { z } from 'zod';
import { pathText } from './env-references.ts';

/**
 * What is wrong between the parts of a `gateway.yaml`: pools that do not exist, accounts named twice. Takes the file
 * however broken the rest of it is, so that these are reported together with problems of shape. Places in `known` have
 * been reported already.
 */
export function referenceProblems(value: unknown, known: ReadonlyMap<string, string>): string[] {
  const { pools, accounts, classes } = namesOf.parse(value);
  const poolNames = Object.keys(pools);
  const found = [
    ...accounts.flatMap(({ pool }, index) => unknownPool(`accounts[${index}].pool`, pool, poolNames)),
    ...duplicateAccounts(accounts),
    ...Object.entries(classes).flatMap(([name, { candidates }]) =>
      candidates.flatMap((candidate, index) =>
        unknownPool(pathText(['classes', name, 'candidates', index]), poolOf(candidate), poolNames),
      ),
    ),
  ];
  return found.filter(({ place }) => !known.has(place)).map(({ place, text }) => `${place}: ${text}`);
}

interface Problem {
  readonly place: string;
  readonly text: string;
}

const anyText = z.string().optional().catch(undefined);

/** The names in a file, and nothing where they are not what they should be. */
const namesOf = z
  .object({
    pools: z.record(z.string(), z.unknown()).catch({}),
    accounts: z.array(z.object({ pool: anyText, name: anyText }).catch({})).catch([]),
    classes: z
      .record(z.string(), z.object({ candidates: z.array(anyText).catch([]) }).catch({ candidates: [] }))
      .catch({}),
  })
  .catch({ pools: {}, accounts: [], classes: {} });

type AccountNames = z.output<typeof namesOf>['accounts'];

function poolOf(candidate: string | undefined): string | undefined {
  return candidate?.match(/^([^/]+)\//)?.[1];
}

function unknownPool(place: string, pool: string | undefined, poolNames: readonly string[]): readonly Problem[] {
  if (pool === undefined || poolNames.includes(pool)) return [];
  return [{ place, text: `there is no such pool; the pools are ${poolNames.join(', ') || '(none)'}` }];
}

function duplicateAccounts(accounts: AccountNames): readonly Problem[] {
  const firstIndexOf = new Map<string, number>();
  return accounts.flatMap(({ pool, name }, index) => {
    if (pool === undefined || name === undefined) return [];
    const first = firstIndexOf.get(`${pool}/${name}`);
    if (first === undefined) firstIndexOf.set(`${pool}/${name}`, index);
    return first === undefined
      ? []
      : [{ place: `accounts[${index}].name`, text: `accounts[${first}] has the same name in the same pool` }];
  });
}
