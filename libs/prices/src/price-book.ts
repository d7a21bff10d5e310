import { matchesPattern } from '@gateway/presentation/model-pattern';
import type { ModelPrice, PriceList } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';

/** Tokens that have a price. Input includes cached tokens and cache writes. */
export interface PricedTokens {
  readonly inputTokens: bigint;
  readonly cachedTokens: bigint;
  readonly cacheWrite5mTokens: bigint;
  readonly cacheWrite1hTokens: bigint;
  readonly outputTokens: bigint;
}

/** The summed tokens of requests of one model. */
export interface ModelUse {
  readonly model: string;
  readonly tokens: PricedTokens;
}

/** In millionths of the currency. */
export interface UseCost {
  readonly micros: bigint;
  readonly unpricedTokens: bigint;
}

/** Prices are per million tokens. */
const tokensOfPrice = 1_000_000n;

/** Models and days that are remembered with their price. */
const maxKnown = 1_000;

/** The prices of models, and what tokens cost by them. Costs are in millionths of the currency. */
export class PriceBook {
  /** "EUR". Empty if there are no prices. */
  readonly currency: string;
  readonly #prices: readonly ModelPrice[];
  readonly #known = new Map<string, ModelPrice | undefined>();

  constructor({ currency, prices }: Pick<PriceList, 'currency' | 'prices'> = { currency: '', prices: [] }) {
    this.currency = currency;
    this.#prices = prices;
  }

  get isEmpty(): boolean {
    return this.#prices.length === 0;
  }

  /**
   * What one request costs at the prices of a local day, rounded once, halves up. Undefined: the
   * model has no price on that day.
   */
  costOf(model: string, tokens: PricedTokens, localDay: string): bigint | undefined {
    const price = this.#priceOf(model, localDay);
    if (price === undefined) return undefined;
    const { above } = price;
    const rates = above !== undefined && tokens.inputTokens > above.inputTokens ? above : price;
    // Counts that contradict each other make no part of the cost negative.
    const rest = uncached(tokens);
    return rounded(exactCost(rates, tokens, rest < 0n ? 0n : rest));
  }

  /**
   * What sums of requests cost together at the prices of a local day. It is summed exactly and
   * rounded once. The size of single requests is unknown here, so rates for large requests do not
   * apply. Undefined if there are no prices.
   */
  costOfSums(uses: Iterable<ModelUse>, localDay: string): UseCost | undefined {
    if (this.isEmpty) return undefined;
    let cost = 0n;
    let unpricedTokens = 0n;
    for (const { model, tokens } of uses) {
      const price = this.#priceOf(model, localDay);
      if (price === undefined) unpricedTokens += tokens.inputTokens + tokens.outputTokens;
      else cost += exactCost(price, tokens, uncached(tokens));
    }
    return { micros: rounded(cost), unpricedTokens };
  }

  #priceOf(model: string, localDay: string): ModelPrice | undefined {
    if (this.isEmpty) return undefined;
    if (this.#known.size >= maxKnown) this.#known.clear();
    return this.#known.getOrInsertComputed(`${localDay} ${model}`, () => this.#findPrice(model, localDay));
  }

  /**
   * Prices that do not hold yet are passed over. The first match decides the pattern, and the
   * latest price with that pattern applies.
   */
  #findPrice(model: string, localDay: string): ModelPrice | undefined {
    const valid = this.#prices.filter(({ fromDay }) => fromDay <= localDay);
    const first = valid.find((price) => matchesPattern(model, price.model));
    if (first === undefined) return undefined;
    const sameModel = valid.filter((price) => price.model === first.model);
    return sameModel.reduce((latest, price) => (price.fromDay > latest.fromDay ? price : latest), first);
  }
}

type Rates = Pick<
  ModelPrice,
  'inputMicros' | 'cachedInputMicros' | 'cacheWrite5mMicros' | 'cacheWrite1hMicros' | 'outputMicros'
>;

/** Input that was neither read from a cache nor written to one. */
function uncached(tokens: PricedTokens): bigint {
  return tokens.inputTokens - tokens.cachedTokens - tokens.cacheWrite5mTokens - tokens.cacheWrite1hTokens;
}

/** In millionths of a millionth. */
function exactCost(rates: Rates, tokens: PricedTokens, uncachedTokens: bigint): bigint {
  return (
    uncachedTokens * rates.inputMicros +
    tokens.cachedTokens * rates.cachedInputMicros +
    tokens.cacheWrite5mTokens * rates.cacheWrite5mMicros +
    tokens.cacheWrite1hTokens * rates.cacheWrite1hMicros +
    tokens.outputTokens * rates.outputMicros
  );
}

function rounded(cost: bigint): bigint {
  const doubled = 2n * cost + tokensOfPrice;
  const quotient = doubled / (2n * tokensOfPrice);
  // Division truncates towards zero; sums under repair may be negative.
  return doubled < 0n && doubled % (2n * tokensOfPrice) !== 0n ? quotient - 1n : quotient;
}
