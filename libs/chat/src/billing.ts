import { type Billing, maxTokenCount, readTokenCount, type UsagePass } from './token-usage.ts';

/** Undefined if nothing in it changes what the answer itself costs. */
export function billingOf(billing: Billing): Billing | undefined {
  const { model, serviceTier, speed, geography, toolCalls, passes, isIncomplete } = billing;
  const isPlain = model + serviceTier + speed + geography === '' && toolCalls.length + passes.length === 0;
  return isPlain && !isIncomplete ? undefined : billing;
}

/**
 * The passes that fit beside an answer into what a request may count, and whether others were left
 * out. From a number on, passes of the same kind and model are added up.
 */
export function fitPasses(
  passes: readonly UsagePass[],
  own: { readonly inputTokens?: number | undefined; readonly outputTokens?: number | undefined } = {},
): Pick<Billing, 'passes' | 'isIncomplete'> {
  const fitting: UsagePass[] = [];
  let { inputTokens = 0, outputTokens = 0 } = own;
  for (const pass of passes) {
    if (Math.max(inputTokens + pass.inputTokens, outputTokens + pass.outputTokens) > maxTokenCount) continue;
    inputTokens += pass.inputTokens;
    outputTokens += pass.outputTokens;
    fitting.push(pass);
  }
  return { passes: addUp(addUp(fitting, keyOf), () => ''), isIncomplete: fitting.length < passes.length };
}

/** How an answer was served, in a provider's word. Empty for what it serves by default. */
export function servedWord(value: unknown, usual: readonly string[]): string {
  const word = nameIn(value);
  return usual.includes(word) ? '' : word;
}

/** A name that can be stored. Empty if there is none. */
export function nameIn(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('\0', '').slice(0, 128).toWellFormed() : '';
}

/** A valid number of calls. */
export function toolCallsIn(counts: Iterable<readonly [string, unknown]>): Billing['toolCalls'] {
  return [...counts].flatMap(([name, value]) => {
    const [tool, calls] = [nameIn(name), readTokenCount(value) ?? 0];
    return calls === 0 || tool === '' ? [] : [{ tool, calls }];
  });
}

/** The number of passes that the ledger keeps one by one. */
const maxPasses = 32;

/** Adds up passes with the same key if they are too many. */
function addUp(passes: readonly UsagePass[], key: (pass: UsagePass) => string): readonly UsagePass[] {
  if (passes.length <= maxPasses) return passes;
  return [...Map.groupBy(passes, key).values()].map((same) => same.reduce(plus));
}

function keyOf({ kind, model }: UsagePass): string {
  return `${kind}\0${model}`;
}

/** Passes of several models have no price. */
function plus(one: UsagePass, other: UsagePass): UsagePass {
  const isSame = keyOf(one) === keyOf(other);
  return {
    ...(isSame ? { kind: one.kind, model: one.model } : { kind: 'several', model: 'several' }),
    inputTokens: one.inputTokens + other.inputTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    cacheWrite5mTokens: one.cacheWrite5mTokens + other.cacheWrite5mTokens,
    cacheWrite1hTokens: one.cacheWrite1hTokens + other.cacheWrite1hTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}
