import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type UsagePart, UsagePartSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type ModelPriceSchema, PriceListSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PriceBook, type PricedTokens, unpricedIn } from './price-book.ts';

const day = '2026-11-20';
const euro = 1_000_000;
const million = 1_000_000;
const small = { inputMicros: 3 * euro, cachedInputMicros: 300_000, outputMicros: 15 * euro };

const bookOf = (...prices: readonly MessageInitShape<typeof ModelPriceSchema>[]) =>
  new PriceBook(create(PriceListSchema, { currency: 'EUR', prices: [...prices] }));
const tokens = (given: Partial<PricedTokens>): PricedTokens => ({
  inputTokens: 0,
  cachedTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
  ...given,
});
const input = (inputTokens: number) => tokens({ inputTokens });

describe('the cost of a request that must not be free', () => {
  const cost = (book: PriceBook, model: string, others: readonly string[]) =>
    book.costAnyway(model, others, input(million), day);

  it('is its own price, that of another way of serving, of the dearest other model, or of all', () => {
    const list = [
      { model: 'a', ...small, inputMicros: 1 },
      { model: 'b', ...small, inputMicros: 2 },
      { model: 'c', ...small, inputMicros: 9 },
    ];
    const book = bookOf(...list, { model: 'd', serviceTier: 'priority', ...small, inputMicros: 4 });
    expect(cost(book, 'a', ['b', 'c'])).toBe(1);
    expect(cost(book, 'd', ['b'])).toBe(4);
    expect(cost(book, 'unpriced', ['a', 'b', 'unpriced'])).toBe(2);
    expect(cost(book, 'unpriced', ['unpriced'])).toBe(9);
    expect(cost(new PriceBook(), 'unpriced', ['a'])).toBeUndefined();
  });

  it('covers the parts of an answer that was served in a way without a price', () => {
    const book = bookOf({ model: 'a', ...small }, { model: 'a', speed: 'fast', ...small, inputMicros: 7 * euro });
    const part = create(UsagePartSchema, { ...input(million), serviceTier: 'unheard-of' });
    const instead = (model: string, used: PricedTokens) => book.dearestPriceOf(model, [], used, day);
    expect(book.priceParts('a', [part], day).costMicros).toBeUndefined();
    expect(book.priceParts('a', [part], day, instead).costMicros).toBe(7 * euro);
  });
});

describe('the cost of a request', () => {
  it('is the sum for input, cached input, cache writes of both lifetimes and output', () => {
    const book = bookOf({
      model: 'claude-*',
      ...small,
      cacheWrite5mMicros: 3_750_000,
      cacheWrite1hMicros: 6 * euro,
    });
    const used = tokens({
      inputTokens: million,
      cachedTokens: 400_000,
      cacheWrite5mTokens: 200_000,
      cacheWrite1hTokens: 100_000,
      outputTokens: 50_000,
    });
    expect(book.costOf('claude-5', used, day)).toBe(900_000 + 120_000 + 750_000 + 600_000 + 750_000);
  });

  it('is by the first price that fits', () => {
    const book = bookOf(
      { ...small, model: 'gpt-5.5-mini', inputMicros: 1 * euro },
      { ...small, model: 'gpt-*', inputMicros: 2 * euro },
      { ...small, model: '*', inputMicros: 9 * euro },
    );
    const costs = ['gpt-5.5-mini', 'gpt-5.5', 'gptx', 'claude\n5'].map((model) =>
      book.costOf(model, input(million), day),
    );
    expect(costs).toEqual([1 * euro, 2 * euro, 9 * euro, 9 * euro]);
    expect(bookOf({ ...small, model: 'a.c*e' }).costOf('abcde', input(1), day)).toBeUndefined();
    expect(new PriceBook().costOf('gpt-5.5', input(1), day)).toBeUndefined();
  });

  it('is by the latest price of that pattern that holds on the day', () => {
    const book = bookOf(
      { model: 'new', inputMicros: 5 * euro, fromDay: '2026-12-01' },
      { model: 'gpt-*', inputMicros: 2 * euro, fromDay: '2026-11-20' },
      { model: 'gpt-*', inputMicros: 4 * euro },
      { model: 'gpt-*', inputMicros: 3 * euro, fromDay: '2026-11-21' },
      { model: '*', inputMicros: 9 * euro },
    );
    const costOn = (model: string, localDay: string) => book.costOf(model, input(million), localDay);
    const days = ['2026-11-19', '2026-11-20', '2026-11-21', '2030-01-01'];
    expect(days.map((each) => costOn('gpt-5', each))).toEqual([4 * euro, 2 * euro, 3 * euro, 3 * euro]);
    expect([costOn('new', '2026-11-30'), costOn('new', '2026-12-01')]).toEqual([9 * euro, 5 * euro]);
  });

  it('is by the other rates for all tokens if its input is above the bound', () => {
    const rates = { inputMicros: 2 * euro, outputMicros: 4 * euro };
    const book = bookOf({
      model: '*',
      inputMicros: euro,
      outputMicros: euro,
      above: { inputTokens: 200_000, ...rates },
    });
    const costs = [200_000, 200_001].map((inputTokens) =>
      book.costOf('m', tokens({ inputTokens, outputTokens: 1_000 }), day),
    );
    expect(costs).toEqual([201_000, 400_002 + 4_000]);
  });

  it('has no negative part if counts contradict each other', () => {
    const book = bookOf({ model: '*', ...small });
    expect(book.costOf('m', tokens({ inputTokens: 1, cachedTokens: million }), day)).toBe(300_000);
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
});

describe('the cost of parts', () => {
  it('is each at the price of its own model, for the way in which it was served', () => {
    const book = bookOf(
      { model: 'opus', inputMicros: 5 * euro },
      { model: 'opus', inputMicros: 10 * euro, speed: 'fast' },
      { model: 'opus', inputMicros: 6 * euro, geography: 'us' },
      { model: 'gpt', inputMicros: 7 * euro, serviceTier: 'priority' },
      { model: 'haiku', inputMicros: euro },
    );
    const costsOf = (...given: readonly MessageInitShape<typeof UsagePartSchema>[]) =>
      book.priceParts('opus', given.map(partOf), day).parts.map(({ costMicros }) => costMicros);
    const one = { inputTokens: million };
    expect(costsOf(one, { ...one, kind: 'advisor_message', model: 'haiku' })).toEqual([5 * euro, euro]);
    expect(costsOf({ ...one, speed: 'fast' }, { ...one, geography: 'us' })).toEqual([10 * euro, 6 * euro]);
    // Neither the plain price nor that of one of both.
    expect(costsOf({ ...one, speed: 'fast', geography: 'us' })).toEqual([undefined]);
    expect(costsOf({ ...one, serviceTier: 'priority' }, { ...one, kind: 'x', model: 'gpt' })).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('counts a pass as large by its own input, however many there are', () => {
    const above = { inputTokens: 200_000, inputMicros: 2 * euro };
    const book = bookOf({ model: '*', inputMicros: euro, above });
    const pass = partOf({ kind: 'compaction', inputTokens: 150_000 });
    const { parts, costMicros } = book.priceParts('m', [partOf({ inputTokens: 1 }), pass, pass], day);
    expect(parts.map((part) => part.costMicros)).toEqual([1, 150_000, 150_000]);
    expect(costMicros).toBe(300_001);
  });

  it('includes the fees of server tools, and names the calls and tokens without a price', () => {
    const toolFees = [{ tool: 'web_search', micros: 10_000 }];
    const book = bookOf({ model: 'm', inputMicros: euro, toolFees });
    const toolCalls = [
      { tool: 'web_search', calls: 3 },
      { tool: 'web_fetch', calls: 2 },
    ];
    const priced = book.priceParts('m', [partOf({ inputTokens: million, toolCalls })], day);
    expect(priced.costMicros).toBe(euro + 30_000);
    expect(unpricedIn(priced.parts)).toEqual({ tokens: 0, calls: 2 });
    const unknown = book.priceParts('n', [partOf({ inputTokens: 5, outputTokens: 2, toolCalls })], day);
    expect([unknown.costMicros, unpricedIn(unknown.parts)]).toEqual([undefined, { tokens: 7, calls: 5 }]);
  });

  it('adds up to a sum that is exact and rounded once, and to all tokens and calls, whatever has a price', () => {
    const fees = fc.array(fc.record({ tool: fc.constantFrom('x', 'y'), micros: anyPrice }), { maxLength: 2 });
    const anyCalls = fc.record({ tool: fc.constantFrom('x', 'y', 'z'), calls: fc.integer({ min: 0, max: 2 ** 16 }) });
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
            return sum + calls * (part.serviceTier === '' ? (feeOf(tool) ?? 0) : 0);
          }, 0);
          return exactly(rates, part).plus(new Rational(BigInt(ofTools), 1n));
        });
        const sum = exact.reduce((total, each) => total.plus(each), new Rational(0n, 1n));
        expect(costMicros).toBe(priced.length === 0 ? undefined : sum.plus(half).floor());
        const costs = parts.flatMap((part) => [part.costMicros, ...part.toolCalls.map((call) => call.costMicros)]);
        expect(costs.reduce<number>((total, each) => total + (each ?? 0), 0)).toBe(costMicros ?? 0);
        expect(totalsOf(parts)).toEqual(totalsOf(given));
        const unpriced = given.filter(({ model }) => model === 'b');
        const withoutFee = given.flatMap(({ model, serviceTier, toolCalls }) =>
          toolCalls.filter(({ tool }) => model === 'b' || serviceTier !== '' || feeOf(tool) === undefined),
        );
        expect(unpricedIn(parts)).toEqual({
          tokens: totalsOf(unpriced).tokens,
          calls: withoutFee.reduce((total, { calls }) => total + calls, 0),
        });
      }),
    );
  });
});

describe('the cost of sums', () => {
  it('leaves out, and counts, tokens without a price; without any prices there is no cost', () => {
    const uses = [
      { model: 'gpt-5.5', tokens: input(million) },
      { model: 'other', tokens: tokens({ inputTokens: 5, cachedTokens: 2, outputTokens: 7 }) },
    ];
    const book = bookOf({ model: 'gpt-*', ...small });
    expect(book.costOfSums(uses, day)).toEqual({ micros: 3 * euro, unpricedTokens: 12 });
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
        expect(cost).toEqual({ micros: sum.plus(half).floor(), unpricedTokens: 0 });
      }),
    );
  });
});

const partOf = (given: MessageInitShape<typeof UsagePartSchema>) => create(UsagePartSchema, given);

function totalsOf(parts: readonly UsagePart[]) {
  return {
    tokens: parts.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0),
    cached: parts.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0),
    calls: parts.flatMap(({ toolCalls }) => toolCalls).reduce((sum, { calls }) => sum + calls, 0),
  };
}

const anyPrice = fc.integer({ min: 0, max: 10 ** 9 });
const anyRates = fc.record({
  inputMicros: anyPrice,
  cachedInputMicros: anyPrice,
  cacheWrite5mMicros: anyPrice,
  cacheWrite1hMicros: anyPrice,
  outputMicros: anyPrice,
});
type Rates = Record<
  'inputMicros' | 'cachedInputMicros' | 'cacheWrite5mMicros' | 'cacheWrite1hMicros' | 'outputMicros',
  number
>;

/** Their costs together are below 2^53. */
const count = fc.maxSafeInteger().map((any) => Math.abs(any) % 2 ** 36);
const anyTokens = fc
  .tuple(count, count, count, count, count)
  .map(([rest, cached, fiveMinutes, hour, outputTokens]) => ({
    inputTokens: rest + cached + fiveMinutes + hour,
    cachedTokens: cached,
    cacheWrite5mTokens: fiveMinutes,
    cacheWrite1hTokens: hour,
    outputTokens,
  }));
const sign = fc.constantFrom(1, -1);

function times(used: PricedTokens, factor: number): PricedTokens {
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
  return costing(rest, rates.inputMicros)
    .plus(costing(used.cachedTokens, rates.cachedInputMicros))
    .plus(costing(used.cacheWrite5mTokens, rates.cacheWrite5mMicros))
    .plus(costing(used.cacheWrite1hTokens, rates.cacheWrite1hMicros))
    .plus(costing(used.outputTokens, rates.outputMicros));
}

function costing(count: number, micros: number): Rational {
  return new Rational(BigInt(count) * BigInt(micros), BigInt(million));
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

  floor(): number {
    const rest = ((this.#numerator % this.#denominator) + this.#denominator) % this.#denominator;
    return Number((this.#numerator - rest) / this.#denominator);
  }
}

const half = new Rational(1n, 2n);
