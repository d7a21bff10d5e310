import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type UsagePart, UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type ModelPriceSchema, PriceListSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PriceBook, type PricedTokens, unpricedIn } from './price-book.ts';

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

describe('the cost of a request that must not be free', () => {
  const cost = (book: PriceBook, model: string, others: readonly string[]) =>
    book.costAnyway(model, others, input(million), day);

  it('is its own price, that of another way of serving, of the dearest other model, or of all', () => {
    const list = [
      { model: 'a', ...small, inputMicros: 1n },
      { model: 'b', ...small, inputMicros: 2n },
      { model: 'c', ...small, inputMicros: 9n },
    ];
    const book = bookOf(...list, { model: 'd', serviceTier: 'priority', ...small, inputMicros: 4n });
    expect(cost(book, 'a', ['b', 'c'])).toBe(1n);
    expect(cost(book, 'd', ['b'])).toBe(4n);
    expect(cost(book, 'unpriced', ['a', 'b', 'unpriced'])).toBe(2n);
    expect(cost(book, 'unpriced', ['unpriced'])).toBe(9n);
    expect(cost(new PriceBook(), 'unpriced', ['a'])).toBeUndefined();
  });

  it('covers the parts of an answer that was served in a way without a price', () => {
    const book = bookOf({ model: 'a', ...small }, { model: 'a', speed: 'fast', ...small, inputMicros: 7n * euro });
    const part = create(UsagePartSchema, { ...input(million), serviceTier: 'unheard-of' });
    const instead = (model: string, used: PricedTokens) => book.dearestPriceOf(model, [], used, day);
    expect(book.priceParts('a', [part], day).costMicros).toBeUndefined();
    expect(book.priceParts('a', [part], day, instead).costMicros).toBe(7n * euro);
  });
});

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

describe('a model', () => {
  it('has a price on the days from which one holds, as its provider serves it by default', () => {
    const book = bookOf({ model: 'a', fromDay: '2026-12-01' }, { model: 'b', serviceTier: 'priority' });
    expect(['2026-11-30', '2026-12-01'].map((each) => book.hasPrice('a', each))).toEqual([false, true]);
    expect([book.hasPrice('b', day), new PriceBook().hasPrice('a', day)]).toEqual([false, false]);
    expect(book.withoutPrice(['c', 'a', 'b', 'c'], '2026-12-01')).toEqual(['c', 'b']);
  });

  it('is the dearest of its pool by what these tokens cost there', () => {
    const book = bookOf(
      { model: 'writer', inputMicros: euro, outputMicros: 9n * euro },
      { model: 'reader', inputMicros: 5n * euro, outputMicros: euro },
    );
    const models = ['unpriced', 'writer', 'reader'];
    expect(book.dearestOf(models, input(million), day)).toEqual({ model: 'reader', micros: 5n * euro });
    expect(book.dearestOf(models, tokens({ outputTokens: million }), day)).toEqual({
      model: 'writer',
      micros: 9n * euro,
    });
    expect(book.dearestOf(['unpriced'], input(million), day)).toBeUndefined();
  });
});

describe('the cost of parts', () => {
  it('is each at the price of its own model, for the way in which it was served', () => {
    const book = bookOf(
      { model: 'opus', inputMicros: 5n * euro },
      { model: 'opus', inputMicros: 10n * euro, speed: 'fast' },
      { model: 'opus', inputMicros: 6n * euro, geography: 'us' },
      { model: 'gpt', inputMicros: 7n * euro, serviceTier: 'priority' },
      { model: 'haiku', inputMicros: euro },
    );
    const costsOf = (...given: readonly MessageInitShape<typeof UsagePartSchema>[]) =>
      book.priceParts('opus', given.map(partOf), day).parts.map(({ costMicros }) => costMicros);
    const one = { inputTokens: million };
    expect(costsOf(one, { ...one, kind: 'advisor_message', model: 'haiku' })).toEqual([5n * euro, euro]);
    expect(costsOf({ ...one, speed: 'fast' }, { ...one, geography: 'us' })).toEqual([10n * euro, 6n * euro]);
    // Neither the plain price nor that of one of both.
    expect(costsOf({ ...one, speed: 'fast', geography: 'us' })).toEqual([undefined]);
    expect(costsOf({ ...one, serviceTier: 'priority' }, { ...one, kind: 'x', model: 'gpt' })).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('counts a pass as large by its own input, however many there are', () => {
    const above = { inputTokens: 200_000n, inputMicros: 2n * euro };
    const book = bookOf({ model: '*', inputMicros: euro, above });
    const pass = partOf({ kind: 'compaction', inputTokens: 150_000n });
    const { parts, costMicros } = book.priceParts('m', [partOf({ inputTokens: 1n }), pass, pass], day);
    expect(parts.map((part) => part.costMicros)).toEqual([1n, 150_000n, 150_000n]);
    expect(costMicros).toBe(300_001n);
  });

  it('includes the fees of server tools, and names the calls and tokens without a price', () => {
    const toolFees = [{ tool: 'web_search', micros: 10_000n }];
    const book = bookOf({ model: 'm', inputMicros: euro, toolFees });
    const toolCalls = [
      { tool: 'web_search', calls: 3n },
      { tool: 'web_fetch', calls: 2n },
    ];
    const priced = book.priceParts('m', [partOf({ inputTokens: million, toolCalls })], day);
    expect(priced.costMicros).toBe(euro + 30_000n);
    expect(unpricedIn(priced.parts)).toEqual({ tokens: 0n, calls: 2n });
    const unknown = book.priceParts('n', [partOf({ inputTokens: 5n, outputTokens: 2n, toolCalls })], day);
    expect([unknown.costMicros, unpricedIn(unknown.parts)]).toEqual([undefined, { tokens: 7n, calls: 5n }]);
  });

  it('adds up to a sum that is exact and rounded once, and to all tokens and calls, whatever has a price', () => {
    const fees = fc.array(fc.record({ tool: fc.constantFrom('x', 'y'), micros: anyPrice }), { maxLength: 2 });
    const anyCalls = fc.record({ tool: fc.constantFrom('x', 'y', 'z'), calls: fc.bigInt({ min: 0n, max: 2n ** 40n }) });
    const anyPart = fc
      .record({
        of: anyTokens,
        kind: fc.constantFrom('', 'compaction'),
        model: fc.constantFrom('', 'a', 'b'),
        serviceTier: fc.constantFrom('', '', 'priority'),
        toolCalls: fc.array(anyCalls, { maxLength: 3 }),
      })
      .map(({ of, ...rest }) => partOf({ ...of, ...rest }));
    fc.assert(
      fc.property(anyRates, anyRates, fees, fc.array(anyPart, { maxLength: 12 }), (plain, fast, toolFees, given) => {
        const priority = { ...fast, model: 'a', serviceTier: 'priority' };
        const book = bookOf({ ...plain, model: 'a', toolFees }, priority);
        const { parts, costMicros } = book.priceParts('a', given, day);
        const priced = given.filter(({ model }) => model !== 'b');
        const feeOf = (tool: string) => toolFees.find((each) => each.tool === tool)?.micros;
        const exact = priced.map((part) => {
          const rates = part.serviceTier === '' ? plain : fast;
          const ofTools = part.toolCalls.reduce((sum, { tool, calls }) => {
            return sum + calls * (part.serviceTier === '' ? (feeOf(tool) ?? 0n) : 0n);
          }, 0n);
          return exactly(rates, part).plus(new Rational(ofTools, 1n));
        });
        const sum = exact.reduce((total, each) => total.plus(each), new Rational(0n, 1n));
        expect(costMicros).toBe(priced.length === 0 ? undefined : sum.plus(half).floor());
        const costs = parts.flatMap((part) => [part.costMicros, ...part.toolCalls.map((call) => call.costMicros)]);
        expect(costs.reduce<bigint>((total, each) => total + (each ?? 0n), 0n)).toBe(costMicros ?? 0n);
        expect(totalsOf(parts)).toEqual(totalsOf(given));
        const unpriced = given.filter(({ model }) => model === 'b');
        const withoutFee = given.flatMap(({ model, serviceTier, toolCalls }) =>
          toolCalls.filter(({ tool }) => model === 'b' || serviceTier !== '' || feeOf(tool) === undefined),
        );
        expect(unpricedIn(parts)).toEqual({
          tokens: totalsOf(unpriced).tokens,
          calls: withoutFee.reduce((total, { calls }) => total + calls, 0n),
        });
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

const partOf = (given: MessageInitShape<typeof UsagePartSchema>) => create(UsagePartSchema, given);

function totalsOf(parts: readonly UsagePart[]) {
  return {
    tokens: parts.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0n),
    cached: parts.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0n),
    calls: parts.flatMap(({ toolCalls }) => toolCalls).reduce((sum, { calls }) => sum + calls, 0n),
  };
}

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
