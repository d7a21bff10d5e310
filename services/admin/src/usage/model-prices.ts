import { matchesPattern } from '@gateway/presentation';
import type { GatewayFile, ModelPrice } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { UsageTotals } from '@gateway/proto/usage/v1/usage_service_pb.js';

/** The usage of one model. Input includes cached tokens. */
export interface ModelUse {
  readonly model: string;
  readonly totals?: UsageTotals | undefined;
}

/** In millionths of the currency. */
export interface UseCost {
  readonly micros: bigint;
  readonly unpricedTokens: bigint;
}

/** Prices are per million tokens. */
const tokensOfPrice = 1_000_000n;

/** The prices of models in gateway.yaml. */
export class ModelPrices {
  /** "EUR". Empty if there are no prices. */
  readonly currency: string;
  readonly #prices: readonly ModelPrice[];
  readonly #known = new Map<string, ModelPrice | undefined>();

  constructor({ prices, currency }: Pick<GatewayFile, 'prices' | 'currency'>) {
    this.currency = currency;
    this.#prices = prices;
  }

  /**
   * The cost of several uses together. It is summed exactly, and then rounded once, to the nearest
   * millionth of the currency; halves are rounded up. Undefined if there are no prices.
   */
  costOf(uses: readonly ModelUse[]): UseCost | undefined {
    if (this.#prices.length === 0) return undefined;
    // In millionths of a millionth.
    let cost = 0n;
    let unpricedTokens = 0n;
    for (const { model, totals } of uses) {
      if (totals === undefined) continue;
      const { inputTokens, cachedTokens, outputTokens } = totals;
      const price = this.#priceOf(model);
      if (price === undefined) unpricedTokens += inputTokens + outputTokens;
      else {
        cost += (inputTokens - cachedTokens) * price.inputMicros + cachedTokens * price.cachedInputMicros;
        cost += outputTokens * price.outputMicros;
      }
    }
    return { micros: rounded(cost), unpricedTokens };
  }

  /** The first price that fits. */
  #priceOf(model: string): ModelPrice | undefined {
    return this.#known.getOrInsertComputed(model, () =>
      this.#prices.find((price) => matchesPattern(model, price.model)),
    );
  }
}

function rounded(cost: bigint): bigint {
  const doubled = 2n * cost + tokensOfPrice;
  const quotient = doubled / (2n * tokensOfPrice);
  // Division truncates towards zero; sums under repair may be negative.
  return doubled < 0n && doubled % (2n * tokensOfPrice) !== 0n ? quotient - 1n : quotient;
}
