import type { UsagePart } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { ModelPrice } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';

/** Tokens that have a price. Input includes cached tokens and cache writes. */
export type PricedTokens = Readonly<
  Pick<UsagePart, 'inputTokens' | 'cachedTokens' | 'cacheWrite5mTokens' | 'cacheWrite1hTokens' | 'outputTokens'>
>;

/** Prices are per million tokens: an exact cost is in millionths of a millionth. */
const tokensOfPrice = 1_000_000n;

/**
 * What the tokens of one request cost, or those of a sum of requests, whose size says nothing about
 * each of them.
 */
export function exactCost(price: ModelPrice, tokens: PricedTokens, of: 'one' | 'sum' = 'one'): bigint {
  const { above } = price;
  const rates = above !== undefined && of === 'one' && tokens.inputTokens > above.inputTokens ? above : price;
  const { cachedTokens, cacheWrite5mTokens, cacheWrite1hTokens, outputTokens } = tokens;
  const rest = tokens.inputTokens - cachedTokens - cacheWrite5mTokens - cacheWrite1hTokens;
  // Counts that contradict each other make no part of a request's cost negative. Sums under repair
  // may be negative.
  const uncached = of === 'one' && rest < 0n ? 0n : rest;
  return (
    uncached * rates.inputMicros +
    cachedTokens * rates.cachedInputMicros +
    cacheWrite5mTokens * rates.cacheWrite5mMicros +
    cacheWrite1hTokens * rates.cacheWrite1hMicros +
    outputTokens * rates.outputMicros
  );
}

/** Costs in millionths that add up to their sum, which is rounded once, halves up. */
export class CostSum {
  #exact = 0n;
  /** Undefined: nothing had a price. */
  micros: bigint | undefined;

  /** @param cost an exact cost; undefined without a price */
  add(cost: bigint | undefined): { costMicros?: bigint } {
    if (cost === undefined) return {};
    const before = this.micros ?? 0n;
    this.#exact += cost;
    this.micros = rounded(this.#exact);
    return { costMicros: this.micros - before };
  }

  /** @param fee millionths for one call; undefined without a price */
  addCalls(calls: bigint, fee: bigint | undefined): { costMicros?: bigint } {
    return this.add(fee && calls * fee * tokensOfPrice);
  }
}

/** An exact cost in millionths, halves up. */
export function rounded(cost: bigint): bigint {
  const doubled = 2n * cost + tokensOfPrice;
  const quotient = doubled / (2n * tokensOfPrice);
  // Division truncates towards zero.
  return doubled < 0n && doubled % (2n * tokensOfPrice) !== 0n ? quotient - 1n : quotient;
}
