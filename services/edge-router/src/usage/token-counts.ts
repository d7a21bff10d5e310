import type { Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';

export const nothingUsed = {
  inputTokens: 0n,
  cachedTokens: 0n,
  cacheWrite5mTokens: 0n,
  cacheWrite1hTokens: 0n,
  outputTokens: 0n,
  reasoningTokens: 0n,
  estimated: true,
};

/** The counts of a report, or of a recorded event, without anything else. */
export function countsOf(usage: Omit<Usage, '$typeName'>): Omit<Usage, '$typeName'> {
  return {
    inputTokens: usage.inputTokens,
    cachedTokens: usage.cachedTokens,
    cacheWrite5mTokens: usage.cacheWrite5mTokens,
    cacheWrite1hTokens: usage.cacheWrite1hTokens,
    outputTokens: usage.outputTokens,
    reasoningTokens: usage.reasoningTokens,
    estimated: usage.estimated,
  };
}
