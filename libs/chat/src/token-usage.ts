/** Tokens of one request. cached ≤ input, reasoning ≤ output. */
export interface TokenUsage {
  /** Cached tokens included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/**
 * The usage of the answer itself that a provider has reported so far. Undefined: not reported, or
 * not a valid count.
 */
export interface ReportedUsage extends Omit<TokenUsage, 'inputTokens' | 'outputTokens'> {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /**
   * Input tokens that the provider wrote to its cache, if it reports them; included in the input.
   */
  readonly cacheCreationTokens?: number | undefined;
  /** The part of them that it wrote for its longer lifetime. */
  readonly cacheCreation1hTokens?: number | undefined;
  /** What is billed beside, or otherwise. Undefined: nothing. */
  readonly billing?: Billing | undefined;
}

/** What an answer says about its bill, beside the counts of the answer itself. */
export interface Billing {
  /** The model that answered instead of the requested one. Empty: the requested one answered. */
  readonly model: string;
  /** How it was served, in the provider's words. Empty: as it serves by default. */
  readonly serviceTier: string;
  readonly speed: string;
  readonly geography: string;
  readonly toolCalls: readonly { readonly tool: string; readonly calls: number }[];
  /** What is billed beside the answer itself. */
  readonly passes: readonly UsagePass[];
  /** A count of a pass is not valid: it counts as not reported. */
  readonly isIncomplete: boolean;
}

/**
 * A pass of a model that is billed beside the answer itself. Input includes cached tokens and cache
 * writes.
 */
export interface UsagePass {
  /** "compaction" */
  readonly kind: string;
  /** Empty: the requested one. */
  readonly model: string;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Written to the cache for the shorter lifetime, and for the longer one. */
  readonly cacheWrite5mTokens: number;
  readonly cacheWrite1hTokens: number;
  readonly outputTokens: number;
}

/**
 * The highest token count of one request. Day budgets and the ledger accept every count up to it,
 * and sums of thousands of them stay exact.
 */
export const maxTokenCount = 2 ** 40;

/**
 * Reads a token count that a provider reported. Undefined when it is missing or invalid: negative,
 * fractional, above `maxTokenCount`, or not a number. This rule applies to all provider counts: an
 * invalid count is treated as not reported.
 */
export function readTokenCount(value: unknown): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxTokenCount;
  return isCount ? value : undefined;
}

type ReportedCounts = { readonly [count in keyof TokenUsage]: number | undefined };

/**
 * Builds usage from a provider's counts, each read by `readTokenCount` or a sum of such counts.
 * Every request has input, so an input of zero tokens was not counted. Undefined when neither input
 * nor output was reported. A part that exceeds its whole is reduced to it.
 */
export function toReportedUsage(counts: ReportedCounts): ReportedUsage | undefined {
  const inputTokens = readTokenCount(counts.inputTokens) || undefined;
  const outputTokens = readTokenCount(counts.outputTokens);
  if (inputTokens === undefined && !outputTokens) return undefined;
  return {
    inputTokens,
    cachedTokens: Math.min(counts.cachedTokens ?? 0, inputTokens ?? maxTokenCount),
    outputTokens,
    reasoningTokens: Math.min(counts.reasoningTokens ?? 0, outputTokens ?? maxTokenCount),
  };
}

/**
 * What is billed for an answer, with all passes, from the provider's report alone; undefined unless
 * it reported both input and output.
 * @param producedCharacters the length of the answer: if an answer has text, an output of zero
 *   tokens was not counted
 */
export function wholeUsage(reported: ReportedUsage | undefined, producedCharacters: number): TokenUsage | undefined {
  if (reported?.inputTokens === undefined || reported.outputTokens === undefined) return undefined;
  if (reported.outputTokens === 0 && producedCharacters > 0) return undefined;
  const { reasoningTokens, billing } = reported;
  const passes = billing?.passes ?? [];
  return {
    inputTokens: passes.reduce((sum, pass) => sum + pass.inputTokens, reported.inputTokens),
    cachedTokens: passes.reduce((sum, pass) => sum + pass.cachedTokens, reported.cachedTokens),
    outputTokens: passes.reduce((sum, pass) => sum + pass.outputTokens, reported.outputTokens),
    reasoningTokens,
  };
}

/** The public `usage` object. @see spec "Chat completion object" */
export function toUsageObject(usage: TokenUsage) {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

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
