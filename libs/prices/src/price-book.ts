import { matchesPattern } from '@gateway/presentation/model-pattern';
import type { UsagePart } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { ModelPrice, PriceList } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
/** Tokens that have a price. Input includes cached tokens and cache writes. */
export type PricedTokens = Readonly<
  Pick<UsagePart, 'inputTokens' | 'cachedTokens' | 'cacheWrite5mTokens' | 'cacheWrite1hTokens' | 'outputTokens'>
>;

/** The summed tokens of requests of one model. */
export interface ModelUse {
  readonly model: string;
  readonly tokens: PricedTokens;
}

/** In millionths of the currency. */
export interface UseCost {
  readonly micros: number;
  readonly unpricedTokens: number;
}

/** A list of prices, which may have none for special ways of serving. */
export type GivenPrices = Pick<PriceList, 'currency' | 'prices'> & Partial<Pick<PriceList, 'specialPrices'>>;

/** How an answer was served, in its own words. Empty: as the provider serves by default. */
type Served = Pick<UsagePart, 'serviceTier' | 'speed' | 'geography'>;

/** The context of a model whose price names none. */
export const unknownContext = 1_000_000;

/** How many tokens a model usually writes, until the ledger knows better. */
export const unknownOutput = 4_096;

/** Models and days that are remembered with their price. */
const maxKnown = 1_000;

/**
 * The prices of models, and what tokens cost by them. Costs are in millionths of the currency. What
 * no price names as it was served is unpriced: the price of another tier, speed or geography never
 * applies.
 */
export class PriceBook {
  /** "EUR". Empty if there are no prices. */
  readonly currency: string;
  readonly #prices: readonly ModelPrice[];
  readonly #known = new Map<string, ModelPrice | undefined>();

  constructor({ currency, prices, specialPrices = [] }: GivenPrices = { currency: '', prices: [] }) {
    this.currency = currency;
    this.#prices = [...prices, ...specialPrices];
  }

  get isEmpty(): boolean {
    return this.#prices.length === 0;
  }

  /** Whether a model, as its provider serves it by default, has a price on a local day. */
  hasPrice(model: string, localDay: string): boolean {
    return this.#priceOf(model, localDay) !== undefined;
  }

  /** The models that have no price on a local day, each once. */
  withoutPrice(models: Iterable<string>, localDay: string): readonly string[] {
    return [...new Set(models)].filter((model) => !this.hasPrice(model, localDay));
  }

  /**
   * What one request costs, as its provider serves it by default, at the prices of a local day,
   * rounded once, halves up. Undefined: the model has no price on that day.
   */
  costOf(model: string, tokens: PricedTokens, localDay: string): number | undefined {
    const price = this.#priceOf(model, localDay);
    return price && rounded(exactCost(price, tokens));
  }

  /**
   * Prices the parts of one request at the prices of a local day, each at its own model's price for
   * the way in which it was served. The costs of the parts add up to that of the request.
   * @param model the model of parts that name none
   * @param insteadOf the price of a part that has none; absent: it is unpriced
   * @returns the cost of what has a price; undefined if nothing has one
   */
  priceParts(
    model: string,
    given: readonly UsagePart[],
    localDay: string,
    insteadOf: (model: string, tokens: PricedTokens) => ModelPrice | undefined = () => undefined,
  ) {
    const sum = new CostSum();
    const parts: UsagePart[] = given.map(({ costMicros: _, toolCalls, ...part }) => {
      const named = part.model || model;
      const price = this.#priceOf(named, localDay, part) ?? insteadOf(named, part);
      const cost = sum.add(price && exactCost(price, part));
      const feeOf = (name: string) => price?.toolFees.find(({ tool }) => tool === name)?.micros;
      const withFees = toolCalls.map(({ costMicros: __, ...calls }) => {
        return { ...calls, ...sum.addCalls(calls.calls, feeOf(calls.tool)) };
      });
      return { ...part, ...cost, toolCalls: withFees };
    });
    return { parts, costMicros: sum.micros };
  }

  /**
   * As `costOf`, where tokens without a price must not be free: see `dearestPriceOf`. Undefined:
   * nothing has a price on that day.
   */
  costAnyway(model: string, others: readonly string[], tokens: PricedTokens, localDay: string): number | undefined {
    const price = this.#priceOf(model, localDay) ?? this.dearestPriceOf(model, others, tokens, localDay);
    return price && rounded(exactCost(price, tokens));
  }

  /**
   * The price of tokens that have none: the dearest of the model's prices for other ways of
   * serving. Without one, it is the dearest of other models, or of all.
   */
  dearestPriceOf(model: string, others: readonly string[], tokens: PricedTokens, localDay: string) {
    const valid = this.#prices.filter(({ fromDay }) => fromDay <= localDay);
    const own = valid.filter((price) => matchesPattern(model, price.model));
    const ofOthers = others.map((other) => this.#priceOf(other, localDay)).filter((price) => price !== undefined);
    const prices = [own, ofOthers, valid].find(({ length }) => length > 0) ?? [];
    return prices.reduce<ModelPrice | undefined>(
      (dearest, price) => (dearest && exactCost(dearest, tokens) >= exactCost(price, tokens) ? dearest : price),
      undefined,
    );
  }

  /**
   * What sums of requests cost together at the prices of a local day. It is summed exactly and
   * rounded once. The size of single requests is unknown here, so rates for large requests do not
   * apply. Undefined if there are no prices.
   */
  costOfSums(uses: Iterable<ModelUse>, localDay: string): UseCost | undefined {
    if (this.isEmpty) return undefined;
    let cost = 0n;
    let unpricedTokens = 0;
    for (const { model, tokens } of uses) {
      const price = this.#priceOf(model, localDay);
      if (price === undefined) unpricedTokens += tokens.inputTokens + tokens.outputTokens;
      else cost += exactCost(price, tokens, 'sum');
    }
    return { micros: rounded(cost), unpricedTokens };
  }

  /** How many tokens a model can read at once, as its price says or {@link unknownContext}. */
  contextOf(model: string, localDay: string): number {
    return this.#priceOf(model, localDay)?.contextTokens || unknownContext;
  }

  #priceOf(model: string, localDay: string, served: Served = byDefault): ModelPrice | undefined {
    if (this.isEmpty) return undefined;
    if (this.#known.size >= maxKnown) this.#known.clear();
    const { serviceTier, speed, geography } = served;
    const key = [localDay, serviceTier, speed, geography, model].join('\0');
    return this.#known.getOrInsertComputed(key, () => this.#findPrice(model, localDay, served));
  }

  /**
   * Only prices for this way of serving count, and those that do not hold yet are passed over. The
   * first match decides the pattern, and the latest price with that pattern applies.
   */
  #findPrice(model: string, localDay: string, served: Served): ModelPrice | undefined {
    const valid = this.#prices.filter((price) => price.fromDay <= localDay && isServedSo(price, served));
    const first = valid.find((price) => matchesPattern(model, price.model));
    const sameModel = valid.filter((price) => price.model === first?.model);
    return sameModel.reduce((latest, price) => (latest && price.fromDay <= latest.fromDay ? latest : price), first);
  }
}

/** The tokens and the calls of server tools in priced parts that have no price. */
export function unpricedIn(parts: readonly UsagePart[]): { readonly tokens: number; readonly calls: number } {
  const hasNone = ({ costMicros }: { readonly costMicros?: number | undefined }) => costMicros === undefined;
  const calls = parts.flatMap(({ toolCalls }) => toolCalls).filter(hasNone);
  return {
    tokens: parts.filter(hasNone).reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0),
    calls: calls.reduce((sum, each) => sum + each.calls, 0),
  };
}

const byDefault: Served = { serviceTier: '', speed: '', geography: '' };

function isServedSo(price: Served, { serviceTier, speed, geography }: Served): boolean {
  return price.serviceTier === serviceTier && price.speed === speed && price.geography === geography;
}

/**
 * Prices are per million tokens: an exact cost is in millionths of a millionth. It may be more than
 * a number holds exactly.
 */
const tokensOfPrice = 1_000_000n;

/**
 * What the tokens of one request cost, or those of a sum of requests, whose size says nothing about
 * each of them.
 */
function exactCost(price: ModelPrice, tokens: PricedTokens, of: 'one' | 'sum' = 'one'): bigint {
  const { above } = price;
  const rates = above !== undefined && of === 'one' && tokens.inputTokens > above.inputTokens ? above : price;
  const { cachedTokens, cacheWrite5mTokens, cacheWrite1hTokens, outputTokens } = tokens;
  const rest = tokens.inputTokens - cachedTokens - cacheWrite5mTokens - cacheWrite1hTokens;
  // Counts that contradict each other make no part of a request's cost negative. Sums under repair
  // may be negative.
  const uncached = of === 'one' && rest < 0 ? 0 : rest;
  return (
    product(uncached, rates.inputMicros) +
    product(cachedTokens, rates.cachedInputMicros) +
    product(cacheWrite5mTokens, rates.cacheWrite5mMicros) +
    product(cacheWrite1hTokens, rates.cacheWrite1hMicros) +
    product(outputTokens, rates.outputMicros)
  );
}

function product(count: number, micros: number): bigint {
  return BigInt(count) * BigInt(micros);
}

/** Costs in millionths that add up to their sum, which is rounded once, halves up. */
class CostSum {
  #exact = 0n;
  /** Undefined: nothing had a price. */
  micros: number | undefined;

  /** @param cost an exact cost; undefined without a price */
  add(cost: bigint | undefined): { costMicros?: number } {
    if (cost === undefined) return {};
    const before = this.micros ?? 0;
    this.#exact += cost;
    this.micros = rounded(this.#exact);
    return { costMicros: this.micros - before };
  }

  /** @param fee millionths for one call; undefined without a price */
  addCalls(calls: number, fee: number | undefined): { costMicros?: number } {
    return this.add(fee === undefined ? undefined : product(calls, fee) * tokensOfPrice);
  }
}

/** An exact cost in millionths, halves up. */
function rounded(cost: bigint): number {
  const [doubled, unit] = [2n * cost + tokensOfPrice, 2n * tokensOfPrice];
  // Division truncates towards zero.
  return Number((doubled - (((doubled % unit) + unit) % unit)) / unit);
}
