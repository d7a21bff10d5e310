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
