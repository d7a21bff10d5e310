import { matchesPattern } from '@gateway/presentation';
import type { ModelPrice } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';

interface Used {
  readonly inputTokens: bigint;
  readonly cachedTokens: bigint;
  readonly outputTokens: bigint;
}

/**
 * The cost of a use of a model, in millionths of the currency. Undefined if the model has no price.
 */
export function costOf(
  { inputTokens, cachedTokens, outputTokens }: Used,
  model: string,
  prices: readonly ModelPrice[],
): number | undefined {
  const price = prices.find((each) => matchesPattern(model, each.model));
  if (price === undefined) return undefined;
  const fresh = (inputTokens - cachedTokens) * price.inputMicros;
  return Number(fresh + cachedTokens * price.cachedInputMicros + outputTokens * price.outputMicros) / 1_000_000;
}
