import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type ModelPriceSchema, PriceListSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PriceBook, type PricedTokens } from './price-book.ts';

const day = '2026-11-20';
const euro = 1_000_000n;
const million = 1_000_000n;
const small = { inputMicros: 3n * euro, cachedInputMicros: 300_000n, outputMicros: 15n * euro };

const bookOf = (...prices: readonly MessageInitShape<typeof ModelPriceSchema>[]) =>
  new PriceBook(create(PriceListSchema, { currency: 'EUR', prices: [...prices] }));
const tokens = (given: Partial<PricedTokens>): PricedTokens => ({
  inputTokens: 0n,
  cachedTokens: 0n,
  cacheWrite5mTokens: 0n,
  cacheWrite1hTokens: 0n,
  outputTokens: 0n,
  ...given,
});
const input = (inputTokens: bigint) => tokens({ inputTokens });

describe('the cost of a request', () => {
  it('is the sum for input, cached input, cache writes of both lifetimes and output', () => {
    const book = bookOf({
      model: 'claude-*',
      ...small,
      cacheWrite5mMicros: 3_750_000n,
      cacheWrite1hMicros: 6n * euro,
    });
    const used = tokens({
      inputTokens: million,
      cachedTokens: 400_000n,
      cacheWrite5mTokens: 200_000n,
      cacheWrite1hTokens: 100_000n,
      outputTokens: 50_000n,
    });
    expect(book.costOf('claude-5', used, day)).toBe(900_000n + 120_000n + 750_000n + 600_000n + 750_000n);
  });

  it('is by the first price that fits', () => {
    const book = bookOf(
      { ...small, model: 'gpt-5.5-mini', inputMicros: 1n * euro },
      { ...small, model: 'gpt-*', inputMicros: 2n * euro },
      { ...small, model: '*', inputMicros: 9n * euro },
    );
    const costs = ['gpt-5.5-mini', 'gpt-5.5', 'gptx', 'claude\n5'].map((model) =>
      book.costOf(model, input(million), day),
    );
    expect(costs).toEqual([1n * euro, 2n * euro, 9n * euro, 9n * euro]);
    expect(bookOf({ ...small, model: 'a.c*e' }).costOf('abcde', input(1n), day)).toBeUndefined();
    expect(new PriceBook().costOf('gpt-5.5', input(1n), day)).toBeUndefined();
  });

  it('is by the latest price of that pattern that holds on the day', () => {
    const book = bookOf(
      { model: 'new', inputMicros: 5n * euro, fromDay: '2026-12-01' },
      { model: 'gpt-*', inputMicros: 2n * euro, fromDay: '2026-11-20' },
      { model: 'gpt-*', inputMicros: 4n * euro },
      { model: 'gpt-*', inputMicros: 3n * euro, fromDay: '2026-11-21' },
      { model: '*', inputMicros: 9n * euro },
    );
    const costOn = (model: string, localDay: string) => book.costOf(model, input(million), localDay);
    const days = ['2026-11-19', '2026-11-20', '2026-11-21', '2030-01-01'];
    expect(days.map((each) => costOn('gpt-5', each))).toEqual([4n * euro, 2n * euro, 3n * euro, 3n * euro]);
    expect([costOn('new', '2026-11-30'), costOn('new', '2026-12-01')]).toEqual([9n * euro, 5n * euro]);
  });

  it('is by the other rates for all tokens if its input is above the bound', () => {
    const rates = { inputMicros: 2n * euro, outputMicros: 4n * euro };
    const book = bookOf({
      model: '*',
      inputMicros: euro,
      outputMicros: euro,
      above: { inputTokens: 200_000n, ...rates },
    });
    const costs = [200_000n, 200_001n].map((inputTokens) =>
      book.costOf('m', tokens({ inputTokens, outputTokens: 1_000n }), day),
    );
    expect(costs).toEqual([201_000n, 400_002n + 4_000n]);
  });

  it('has no negative part if counts contradict each other', () => {
    const book = bookOf({ model: '*', ...small });
    expect(book.costOf('m', tokens({ inputTokens: 1n, cachedTokens: million }), day)).toBe(300_000n);
  });

  it('is exact and rounded once, halves up', () => {
    fc.assert(
      fc.property(anyRates, anyTokens, (rates, used) => {
        const cost = bookOf({ model: 'm', ...rates }).costOf('m', used, day);
        expect(cost).toBe(exactly(rates, used).plus(half).floor());
      }),
    );
  });
});

describe('the cost of sums', () => {
  it('leaves out, and counts, tokens without a price; without any prices there is no cost', () => {
    const uses = [
      { model: 'gpt-5.5', tokens: input(million) },
      { model: 'other', tokens: tokens({ inputTokens: 5n, cachedTokens: 2n, outputTokens: 7n }) },
    ];
    const book = bookOf({ model: 'gpt-*', ...small });
    expect(book.costOfSums(uses, day)).toEqual({ micros: 3n * euro, unpricedTokens: 12n });
    expect(new PriceBook().costOfSums(uses, day)).toBeUndefined();
  });

  it('is exact over all models and rounded once, halves up, also below zero', () => {
    const uses = fc.array(fc.record({ model: fc.constantFrom('a', 'b'), tokens: anyTokens, sign }));
    fc.assert(
      fc.property(anyRates, anyRates, uses, (ofA, ofB, given) => {
        const signed = given.map(({ model, tokens: used, sign: factor }) => ({ model, tokens: times(used, factor) }));
        const sum = signed
          .map(({ model, tokens: used }) => exactly(model === 'a' ? ofA : ofB, used))
          .reduce((total, each) => total.plus(each), new Rational(0n, 1n));
        const cost = bookOf({ model: 'a', ...ofA }, { model: 'b', ...ofB }).costOfSums(signed, day);
        expect(cost).toEqual({ micros: sum.plus(half).floor(), unpricedTokens: 0n });
      }),
    );
  });
});

const anyPrice = fc.bigInt({ min: 0n, max: 10n ** 12n });
const anyRates = fc.record({
  inputMicros: anyPrice,
  cachedInputMicros: anyPrice,
  cacheWrite5mMicros: anyPrice,
  cacheWrite1hMicros: anyPrice,
  outputMicros: anyPrice,
});
type Rates = Record<
  'inputMicros' | 'cachedInputMicros' | 'cacheWrite5mMicros' | 'cacheWrite1hMicros' | 'outputMicros',
  bigint
>;

const count = fc.bigInt({ min: 0n, max: 2n ** 50n });
const anyTokens = fc
  .tuple(count, count, count, count, count)
  .map(([rest, cached, fiveMinutes, hour, outputTokens]) => ({
    inputTokens: rest + cached + fiveMinutes + hour,
    cachedTokens: cached,
    cacheWrite5mTokens: fiveMinutes,
    cacheWrite1hTokens: hour,
    outputTokens,
  }));
const sign = fc.constantFrom(1n, -1n);

function times(used: PricedTokens, factor: bigint): PricedTokens {
  return {
    inputTokens: used.inputTokens * factor,
    cachedTokens: used.cachedTokens * factor,
    cacheWrite5mTokens: used.cacheWrite5mTokens * factor,
    cacheWrite1hTokens: used.cacheWrite1hTokens * factor,
    outputTokens: used.outputTokens * factor,
  };
}

/** Part by part, as a price page says it. */
function exactly(rates: Rates, used: PricedTokens): Rational {
  const rest = used.inputTokens - used.cachedTokens - used.cacheWrite5mTokens - used.cacheWrite1hTokens;
  return new Rational(rest * rates.inputMicros, million)
    .plus(new Rational(used.cachedTokens * rates.cachedInputMicros, million))
    .plus(new Rational(used.cacheWrite5mTokens * rates.cacheWrite5mMicros, million))
    .plus(new Rational(used.cacheWrite1hTokens * rates.cacheWrite1hMicros, million))
    .plus(new Rational(used.outputTokens * rates.outputMicros, million));
}

/** A fraction of whole numbers, without rounding. */
class Rational {
  readonly #numerator: bigint;
  readonly #denominator: bigint;

  constructor(numerator: bigint, denominator: bigint) {
    this.#numerator = numerator;
    this.#denominator = denominator;
  }

  plus(other: Rational): Rational {
    const numerator = this.#numerator * other.#denominator + other.#numerator * this.#denominator;
    return new Rational(numerator, this.#denominator * other.#denominator);
  }

  floor(): bigint {
    const rest = ((this.#numerator % this.#denominator) + this.#denominator) % this.#denominator;
    return (this.#numerator - rest) / this.#denominator;
  }
}

const half = new Rational(1n, 2n);
