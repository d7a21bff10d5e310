export interface CountedTokens {
  readonly inputTokens: bigint;
  readonly cachedTokens: bigint;
  readonly outputTokens: bigint;
  readonly reasoningTokens: bigint;
  readonly estimated: boolean;
}

/** "1200 in (1000 of them cached), 80 out (20 of them reasoning)" */
export function tokensText(usage: CountedTokens): string {
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens, estimated } = usage;
  const cached = cachedTokens === 0n ? '' : ` (${cachedTokens} of them cached)`;
  const reasoning = reasoningTokens === 0n ? '' : ` (${reasoningTokens} of them reasoning)`;
  return `${inputTokens} in${cached}, ${outputTokens} out${reasoning}${estimated ? ', estimated' : ''}`;
}
