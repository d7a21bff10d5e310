/** Tokens of one request. cached ≤ input, reasoning ≤ output. */
export interface TokenUsage {
  /** Cached tokens included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** The same as far as a provider has reported it. Undefined: it has not, or not with a number that can be. */
export interface ReportedUsage extends Omit<TokenUsage, 'inputTokens' | 'outputTokens'> {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /** Input tokens that the provider put into its cache, where it counts them; among the input. */
  readonly cacheCreationTokens?: number | undefined;
}

/**
 * The most tokens that any count of one request has. Day budgets and the ledger take every count up to it, and sums of
 * thousands of them are exact.
 */
export const maxTokenCount = 2 ** 40;

/**
 * A count of tokens in a provider's words; undefined when there is none, or when it can't be one: negative, fractional, above
 * `maxTokenCount`, or no number. The one rule for all that a provider counts: such a count is as good as not reported.
 */
export function readTokenCount(value: unknown): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxTokenCount;
  return isCount ? value : undefined;
}

type ReportedCounts = { readonly [count in keyof TokenUsage]: number | undefined };

/**
 * Usage from a provider's counts, each read by `readTokenCount` or a sum of such. Every request has an input, so that one of no tokens
 * was not counted. Undefined when neither input nor output was reported. A part that is more than its whole is cut to it.
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
 * The usage of an answer by the provider alone; undefined unless it reported both input and output.
 * @param producedCharacters how long the answer is: the output of one that says something was not counted when it is of no tokens
 */
export function wholeUsage(reported: ReportedUsage | undefined, producedCharacters: number): TokenUsage | undefined {
  if (reported?.inputTokens === undefined || reported.outputTokens === undefined) return undefined;
  if (reported.outputTokens === 0 && producedCharacters > 0) return undefined;
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens } = reported;
  return { inputTokens, cachedTokens, outputTokens, reasoningTokens };
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
