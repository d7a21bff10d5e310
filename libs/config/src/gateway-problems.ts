import { z } from 'zod';
import { pathText } from './env-references.ts';
import { pricesSchema } from './prices-schema.ts';

/**
 * Finds contradictions between the parts of a `gateway.yaml`. It accepts a file that is invalid
 * elsewhere, so that these problems are reported together with those of the schema. Paths in
 * `known` already have a reported problem.
 */
export function problemsBetweenParts(value: unknown, known: Pick<ReadonlySet<string>, 'has'>): string[] {
  const { pools, accounts, classes } = partsOf.parse(value);
  const poolNames = Object.keys(pools).join(', ') || '(none)';
  const problems: string[] = [];
  const report = (path: readonly PropertyKey[], text: string) => {
    const place = pathText(path);
    if (!known.has(place)) problems.push(`${place}: ${text}`);
  };
  const checkPool = (path: readonly PropertyKey[], pool: string | undefined) => {
    if (pool === undefined || Object.hasOwn(pools, pool)) return;
    report(path, `this pool does not exist; the pools are ${poolNames}`);
  };
  for (const [index, { pool }] of accounts.entries()) checkPool(['accounts', index, 'pool'], pool);
  for (const [name, { candidates }] of Object.entries(classes)) {
    for (const [index, candidate] of candidates.entries()) {
      checkPool(['classes', name, 'candidates', index], candidate?.match(/^([^/]+)\//)?.[1]);
    }
  }
  const firstIndexOf = new Map<string, number>();
  for (const [index, { pool, name }] of accounts.entries()) {
    if (pool === undefined || name === undefined) continue;
    const first = firstIndexOf.get(`${pool}/${name}`);
    if (first === undefined) firstIndexOf.set(`${pool}/${name}`, index);
    else report(['accounts', index, 'name'], `accounts[${first}] has the same name in the same pool`);
  }
  for (const [pool, { format, models }] of Object.entries(pools)) {
    for (const [pattern, traits] of Object.entries(models)) {
      checkTraits(traits, format, (path, text) => report(['pools', pool, 'models', pattern, ...path], text));
    }
  }
  return problems;
}

const anyText = z.string().optional().catch(undefined);
const anyModels = z.record(z.string(), z.record(z.string(), z.unknown()).catch({})).catch({});
const anyPool = z.object({ format: z.string().catch(''), models: anyModels }).catch({ format: '', models: {} });
const anyAccount = z
  .object({ pool: anyText, name: anyText, models: z.array(anyText).catch([]).default([]) })
  .catch({ models: [] });
const anyClass = z.object({ candidates: z.array(anyText).catch([]) }).catch({ candidates: [] });

/** The parts of a file that the checks need; empty where a part is invalid. */
export const partsOf = z
  .object({
    pools: z.record(z.string(), anyPool).catch({}),
    accounts: z.array(anyAccount).catch([]),
    classes: z.record(z.string(), anyClass).catch({}),
    prices: pricesSchema.optional().catch(undefined),
  })
  .catch({ pools: {}, accounts: [], classes: {}, prices: undefined });

type Report = (path: readonly PropertyKey[], text: string) => void;

function checkTraits(traits: Readonly<Record<string, unknown>>, format: string, report: Report): void {
  const refuse = (names: readonly string[], text: string) => {
    for (const name of names) if (name in traits) report([name], text);
  };
  if (format === 'responses') refuse(messagesTraits, 'only pools of format messages support this trait');
  if (format !== 'messages') return;
  const efforts: readonly unknown[] = Array.isArray(traits.efforts) ? traits.efforts : [];
  for (const [index, effort] of efforts.entries()) {
    if (effort !== 'none' && effort !== 'minimal') continue;
    report(['efforts', index], 'must be low, medium, high, xhigh or max in a pool of format messages');
  }
  if (traits.thinking !== 'none' && traits.thinking !== 'budget') return;
  refuse(['thinking_by_default', 'thinking_least'], 'requires thinking: adaptive');
}

const messagesTraits = [
  ...['thinking', 'thinking_by_default', 'thinking_least'],
  ...['forced_tool_choice', 'structured_output', 'max_output_tokens'],
];
